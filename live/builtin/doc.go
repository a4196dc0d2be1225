// Package builtin hides what Kubernetes itself does to objects besides merging them: how it defaults, canonicalises and converts its own
// kinds and custom resources. It links the types of Kubernetes, so only who predicts an apply should import it.
package builtin
