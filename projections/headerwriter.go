package projections

import (
	"bytes"
	"context"
	"encoding/json"
)

// headerWriter writes a header as JSON, member by member and item by item, so that it can stop early.
type headerWriter struct {
	ctx    context.Context //nolint:containedctx // for one encoding
	buffer bytes.Buffer
	json   *json.Encoder
	err    error
}

func (w *headerWriter) name(name string) {
	if w.buffer.Len() == 0 {
		w.buffer.WriteByte('{')
	} else {
		w.buffer.WriteByte(',')
	}
	w.buffer.WriteString(`"` + name + `":`)
}

func (w *headerWriter) value(name string, value any) {
	w.name(name)
	w.encode(value)
}

func (w *headerWriter) encode(value any) {
	if w.err == nil {
		w.err = w.ctx.Err()
	}
	if w.err == nil {
		w.err = w.json.Encode(value)
		w.buffer.Truncate(w.buffer.Len() - 1) // the line break
	}
}

func write[T any](w *headerWriter, name string, items []T) {
	w.name(name)
	w.buffer.WriteByte('[')
	for i := range items {
		if i > 0 {
			w.buffer.WriteByte(',')
		}
		w.encode(items[i])
	}
	w.buffer.WriteByte(']')
}
