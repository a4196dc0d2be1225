// Package inputs hides where a render gets what it needs beside the files of its source: the ConfigMaps and Secrets that the spec of a
// Release names, and what the target cluster can do.
package inputs
