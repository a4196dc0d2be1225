//go:build unix

package render

import "syscall"

// limitMemory lets this process have so many bytes of memory and no more.
func limitMemory(bytes uint64) error {
	return syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: bytes, Max: bytes})
}
