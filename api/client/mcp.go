package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"maestro/service/wire"
)

// ProtocolError is a negative answer of the Model Context Protocol. Match it with errors.As.
type ProtocolError struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *ProtocolError) Error() string { return e.Message }

// MCP makes a request of the Model Context Protocol, and decodes its result into out. It fails with *ProtocolError if
// the protocol's answer is negative, and otherwise as Do does.
func (c *Client) MCP(ctx context.Context, method string, params, out any) error {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // it would make a text up to six times as long as the server's limits count it
	message := map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
	if err := encoder.Encode(message); err != nil {
		return fmt.Errorf("the parameters of %s: %w", method, err)
	}
	ctx, cancel := c.patiently(ctx, 0)
	defer cancel()
	text := bytes.TrimSuffix(body.Bytes(), []byte("\n"))
	req, err := c.request(ctx, http.MethodPost, wire.MCPPath, nil, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.trace != "" {
		req.Header.Set(wire.HeaderTraceParent, c.trace)
	}
	resp, err := c.send(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err = readAll(resp)
	if err != nil {
		if ctxErr := req.Context().Err(); ctxErr != nil {
			return ctxErr
		}
		return &ConnectionError{URL: c.Base(), Err: err}
	}
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  *ProtocolError  `json:"error"`
	}
	switch err := json.Unmarshal(text, &answer); { // a refused request has the status of an error too
	case err == nil && answer.Error != nil:
		return answer.Error
	case resp.StatusCode >= http.StatusMultipleChoices:
		resp.Body = readAgain{bytes.NewReader(text)}
		return errorOf(resp)
	case err != nil:
		return notOurs(resp, err)
	}
	return decoded(resp, answer.Result, out)
}

// readAgain is a body that was read.
type readAgain struct{ *bytes.Reader }

func (readAgain) Close() error { return nil }
