package host

import "github.com/wagent-dev/wagent/host/internal/sandbox"

// Worker must be the first call of main in a program that wants modules compiled
// outside of its own process. It returns at once, unless the process was started
// by a host to work for it: then it does that work and ends the process. It must
// not depend on arguments, the environment or files: that process has others.
//
//	func main() {
//		host.Worker()
//		…
//	}
//
// A module that is not in the cache and may take long to compile is then compiled
// by another process of the same program, which has no environment and ends when
// the context of [New], [Open] or [InspectWith] does. A module that takes more than
// 30 s of the processors and 10 s for each MiB of code, four times as long by the
// clock, or more than 1 GiB of memory and 16 MiB for each MiB of code, is refused.
// Package initialisation of the program runs in that process too; main does not
// go on.
//
// A module with isolation: process has its guests run by such a process, which lives
// as long as the module and is started anew when it has ended. From the first one on
// the program cannot be traced and leaves no core dump.
//
// Without the call such a module is refused. Without it, or where no process can be
// started, modules are compiled in this process, with a warning in the log: a module
// that was made to hurt may then take its processors for many seconds and gigabytes
// of its memory, and a fault of the compiler ends it.
func Worker() { sandbox.Worker() }
