// Package pki hides how certificates are made where no cluster makes them: for tests, and for the cluster on a developer's machine.
package pki
