// Package webhooks hides how admission sees a pin: the webhooks for releases/pin of subresources.convoy.dev. They say and stamp what
// convoy-apiserver says and stamps as well, for the admission chain to see, and refuse a pin that no longer fits the Release as it is now.
package webhooks
