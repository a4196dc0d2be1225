package main

import (
	"io"
	"os"
	"testing"

	"github.com/convoy-dev/convoy/internal/testenv"
)

// asManager is set for a process of the test binary that is to be the command.
const asManager = "CONVOY_TEST_AS_MANAGER"

func TestMain(m *testing.M) {
	if os.Getenv(asManager) != "" {
		beManager()
	}
	testenv.Main(m)
}

// beManager runs the command until it ends, or the tests, which hold its standard input open, are gone.
func beManager() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	main()
	os.Exit(0)
}
