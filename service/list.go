package service

import (
	"encoding/json"
	"iter"
)

// List is a list whose items are created while it is written. An item does not change until the next one is created.
type List[T any] struct{ Items iter.Seq[T] }

// MarshalJSON implements json.Marshaler, for a list inside a value that is not rendered in parts.
func (l List[T]) MarshalJSON() ([]byte, error) {
	all := []byte{'['}
	for item := range l.Items {
		one, err := json.Marshal(item)
		if err != nil {
			return nil, err
		}
		if len(all) > 1 {
			all = append(all, ',')
		}
		all = append(all, one...)
	}
	return append(all, ']'), nil
}

// Each calls yield with one item after another, until it returns false.
func (l List[T]) Each(yield func(any) bool) {
	for item := range l.Items {
		if !yield(item) {
			return
		}
	}
}
