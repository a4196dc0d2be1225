// Package live hides how the cluster is read: which objects of a Release are there, whether they are healthy, and what an apply would
// make of them. It only reads.
package live
