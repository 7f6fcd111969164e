;; Starts with four GiB of memory that it does not export.
(module (memory 65536) (func (export "call")) (func (export "describe")))
