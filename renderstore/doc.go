// Package renderstore hides where the renders that were applied are kept, and how: byte for byte in an object store, with a history
// for each Release.
//
// A Store is one object store, an Archive one Release's part of it. Drivers disagree about what an error means, about keys and about
// missing buckets; a caller sees none of that. It sees ErrNotFound only if the object store has said that the render is not there,
// ErrCorrupt only if the whole object was read and is not what its name says, and every other failure as what it is. A listing that
// fails is never an empty one. What an error says is one line, the same on every try, without credentials.
//
// Without an object store there is a disabled Store, which a caller uses like any other: writes do nothing, reads return
// ErrDisabled.
package renderstore
