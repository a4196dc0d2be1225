package testenv

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// FreeAddress is an address on loopback that nobody listens on, for a process that is to be started. Its port is none of those that the system
// gives to connections, or one of these might take it before the process does.
func FreeAddress(t testing.TB) string {
	t.Helper()
	const first, last = 10_000, 30_000
	var err error
	for range 100 {
		var listener net.Listener
		if listener, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+rand.N(last-first))); err == nil {
			address := listener.Addr().String()
			if err = listener.Close(); err == nil {
				return address
			}
		}
	}
	t.Fatal(err)
	return ""
}
