package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"maestro/service/wire"
)

// LiveMessage is a message of the live views. Kind is one of those of [wire.LiveKindSnapshot] and so on, and Data has
// the type that it names.
type LiveMessage struct {
	Kind string
	// Position is where to continue after it with [wire.LiveFilter.After]; "" for a part of a snapshot.
	Position string
	Data     json.RawMessage
}

// Live reads the live views until ctx ends, each fails, or the server ends the answer, which is a *ConnectionError
// unless the filter asked for it.
func (c *Client) Live(ctx context.Context, filter wire.LiveFilter, each func(LiveMessage) error) error {
	stream, err := c.stream(ctx, "/api/live", queryOf(filter))
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	in := &liveReader{in: bufio.NewReaderSize(stream, 64<<10)}
	for {
		message, err := in.next()
		switch {
		case err == nil:
			err = each(message)
			if err != nil {
				return err
			}
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.EOF) && filter.Follow == "false":
			return nil
		case errors.Is(err, io.EOF):
			return &ConnectionError{URL: c.Base(), Err: io.ErrUnexpectedEOF}
		default:
			return &ConnectionError{URL: c.Base(), Err: err}
		}
	}
}

// liveReader reads server-sent events.
type liveReader struct{ in *bufio.Reader }

// next returns the next message; heartbeats are none.
func (r *liveReader) next() (m LiveMessage, err error) {
	m.Kind = wire.LiveKindAt
	for length := 0; ; {
		line, err := r.line(maxAnswer - length)
		if err != nil {
			return m, err
		}
		length += len(line)
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch string(name) {
		case "": // the end of a message, or a comment
			if len(line) == 0 && (m.Position != "" || m.Data != nil) {
				return m, nil
			}
		case "id":
			m.Position = string(value)
		case "event":
			m.Kind = string(value)
		case "data":
			m.Data = bytes.Clone(value)
		}
	}
}

// line returns the next line of at most so many bytes, without its end.
func (r *liveReader) line(most int) ([]byte, error) {
	var whole []byte
	for {
		part, err := r.in.ReadSlice('\n')
		switch {
		case err == nil && whole == nil:
			return part[:len(part)-1], nil
		case err == nil:
			return append(whole, part[:len(part)-1]...), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
		if whole = append(whole, part...); len(whole) > most {
			return nil, fmt.Errorf("a message is longer than %d bytes", maxAnswer)
		}
	}
}
