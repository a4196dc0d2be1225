package apply

import (
	"golang.org/x/sync/errgroup"

	"github.com/convoy-dev/convoy/render"
)

// parallel is how many requests of one pass are under way at once.
const parallel = 16

// inParallel calls f for 0 to n-1, some at once. It returns what each call returned; nil if all returned nil.
func inParallel(n int, f func(i int) error) []error {
	errs := make([]error, n)
	var g errgroup.Group
	g.SetLimit(parallel)
	for i := range n {
		g.Go(func() error {
			errs[i] = f(i)
			return errs[i]
		})
	}
	if g.Wait() == nil {
		return nil
	}
	return errs
}

// objectErrors keeps the errors, each with the object that it is about.
func objectErrors(errs []error, of func(i int) render.ObjectID) ObjectErrors {
	var failed ObjectErrors
	for i, err := range errs {
		if err != nil {
			failed = append(failed, ObjectError{of(i), err})
		}
	}
	return failed
}
