//go:build !unix

package render

import "runtime/debug"

// limitMemory makes this process collect its garbage as if it had so many bytes of memory: these systems have no hard limit to set.
func limitMemory(bytes uint64) error {
	debug.SetMemoryLimit(int64(bytes))
	return nil
}
