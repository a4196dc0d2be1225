// Package redact hides where a text or an object may show values of Secrets, and takes them out for whoever prints it.
package redact
