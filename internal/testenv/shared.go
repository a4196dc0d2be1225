package testenv

import (
	"os"
	"sync"
	"testing"
)

// shared is the environment that all tests of a test binary use.
var shared struct {
	sync.Mutex
	running bool // whether Main runs, and so will stop what Shared starts
	options []Option
	env     *Environment
	err     error
}

// Main runs the tests of a package and stops the environment that they shared. It does not return. The environment starts when the first
// test asks for it, so tests that need no cluster do not pay for one.
func Main(m *testing.M, options ...Option) {
	shared.running, shared.options = true, options
	code := m.Run()
	if shared.env != nil {
		if err := shared.env.stop(); err != nil {
			os.Stderr.WriteString("stop the test environment: " + err.Error() + "\n")
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// Shared returns the environment that all tests of the package use. The package's TestMain must call Main.
func Shared(tb testing.TB) *Environment {
	tb.Helper()
	shared.Lock()
	defer shared.Unlock()
	if !shared.running {
		tb.Fatal("testenv.Shared needs a TestMain in the package that calls testenv.Main, which stops the environment")
	}
	if shared.env == nil && shared.err == nil {
		shared.env, shared.err = start(shared.options)
	}
	if shared.err != nil {
		tb.Fatalf("start the test environment: %v", shared.err)
	}
	return shared.env
}

// Start starts an environment of the test's own, which stops when the test or the suite ends.
func Start(tb testing.TB, options ...Option) *Environment {
	tb.Helper()
	env, err := start(options)
	if err != nil {
		tb.Fatalf("start the test environment: %v", err)
	}
	tb.Cleanup(func() {
		if err := env.stop(); err != nil {
			tb.Errorf("stop the test environment: %v", err)
		}
	})
	return env
}
