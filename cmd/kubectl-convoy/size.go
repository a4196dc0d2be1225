package main

import "fmt"

// sizeOf is a number of bytes as people read it, in units of 1,024.
func sizeOf(bytes int64) string {
	const step = 1024
	if bytes < step {
		return fmt.Sprintf("%dB", bytes)
	}
	size, unit := float64(bytes)/step, "KiB"
	for _, larger := range []string{"MiB", "GiB"} {
		if size < step {
			break
		}
		size, unit = size/step, larger
	}
	return fmt.Sprintf("%.1f%s", size, unit)
}
