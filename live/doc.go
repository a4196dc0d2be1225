// Package live hides how the cluster is read: which objects of a Release are there, and whether they are healthy. It only reads.
package live
