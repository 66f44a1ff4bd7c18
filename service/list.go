package service

import (
	"encoding/json"
	"iter"
)

// List is a list whose items are created while it is written. The items must not change afterwards.
type List[T any] struct{ Items iter.Seq[T] }

// MarshalJSON implements json.Marshaler, for a list inside a value that is not rendered in parts.
func (l List[T]) MarshalJSON() ([]byte, error) {
	items := []T{}
	for item := range l.Items {
		items = append(items, item)
	}
	return json.Marshal(items)
}

// Each calls yield with one item after another, until it returns false.
func (l List[T]) Each(yield func(any) bool) {
	for item := range l.Items {
		if !yield(item) {
			return
		}
	}
}
