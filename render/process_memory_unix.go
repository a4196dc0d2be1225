//go:build unix

package render

import (
	"runtime/debug"
	"syscall"
)

// limitMemory lets this process have so many bytes of memory and no more. Garbage is collected before it gets there.
func limitMemory(bytes uint64) error {
	debug.SetMemoryLimit(int64(bytes / 4 * 3))
	return syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: bytes, Max: bytes})
}
