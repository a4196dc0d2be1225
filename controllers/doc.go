// Package controllers hides when each step of a pass happens, and what a failure of each means for the status of a Release.
//
// A pass is one run of Reconcile: one step a file, in the order of Reconcile's lines. No step waits. What is not ready yet ends the
// pass, and a watch on the objects, or the deadline in status.sync, starts the next one. Steps report what they saw into an
// Observation, which only the last step reads; a step that fails returns a *Failure, the only error type of the steps.
package controllers
