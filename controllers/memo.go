package controllers

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
)

// memoSize is for how many Releases something is remembered.
const memoSize = 500

// memo remembers one value of each Release, by what it was made from. It may forget at any time.
type memo[T any] struct{ cache *lru.Cache }

type memory[T any] struct {
	from  string
	value T
}

func newMemo[T any]() memo[T] { return memo[T]{lru.New(memoSize)} }

func (m memo[T]) get(uid types.UID, from string) (value T, ok bool) {
	last, ok := m.cache.Get(uid)
	if !ok || last.(memory[T]).from != from {
		return value, false
	}
	return last.(memory[T]).value, true
}

func (m memo[T]) put(uid types.UID, from string, value T) { m.cache.Add(uid, memory[T]{from, value}) }

func (m memo[T]) forget(uid types.UID) { m.cache.Remove(uid) }
