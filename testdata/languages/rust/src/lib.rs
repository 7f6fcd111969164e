//! The tools in Rust, which speak the wagent ABI themselves, or Extism's with
//! the feature plugin.

mod count;
mod json;

#[cfg(feature = "plugin")]
mod plugin;
#[cfg(not(feature = "plugin"))]
mod tool;
