// Package apiservertest hides how a test gets convoy-apiserver behind the kube-apiserver of a testenv, with its guard, its roles and its
// webhooks, all from config/default: in the process of the test, from the code of the binaries.
//
//	env := testenv.Start(t, testenv.WithAggregation())
//	observer := apiservertest.StartObserver(t, env)
//	apiservertest.Start(t, env, observer.Behind(t))
package apiservertest
