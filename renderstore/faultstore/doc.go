// Package faultstore breaks a render store on purpose, for tests. It hides how: a bucket between the store and the real one lets
// operations fail, hang, lose their answer or come back short, until it is told to stop.
package faultstore
