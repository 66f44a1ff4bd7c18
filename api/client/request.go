package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"maestro/service/wire"
)

// maxAnswer bounds an answer that is not a stream.
const maxAnswer = 256 << 20

func (c *Client) request(ctx context.Context, method, path string, query url.Values, body io.Reader) (*http.Request,
	error,
) {
	target := c.Base() + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, fmt.Errorf("the server's address: %w", err)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	req.Header.Set(wire.HeaderClient, c.version)
	return req, nil
}

// send sends the request, and retries after 429 at the time that the server gives, and when the server is too busy to
// identify itself.
func (c *Client) send(req *http.Request) (*http.Response, error) { return c.sendBy(req, c.http.Do) }

func (c *Client) sendBy(req *http.Request, do func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	for patience := c.patience; ; {
		resp, err := c.once(req, do)
		var busy *BusyError
		var after time.Duration
		switch {
		case errors.As(err, &busy):
			after = busy.after
		case err != nil || resp.StatusCode != http.StatusTooManyRequests:
			return resp, err
		default:
			after = retryAfter(resp)
		}
		if after == 0 || after > patience || req.Body != nil && req.GetBody == nil {
			return resp, err
		}
		if busy != nil {
			c.tellWaiting(busy.Err, after)
		} else {
			c.tellWaiting(errorOf(resp), after)
			_ = resp.Body.Close()
		}
		patience -= after
		select {
		case <-time.After(after):
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
		if req.GetBody != nil {
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// retryAfter returns how long the server says to wait, 0 if it does not say.
func retryAfter(resp *http.Response) time.Duration {
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || seconds < 1 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// tellWaiting reports which limit an answer names.
func (c *Client) tellWaiting(said *Error, after time.Duration) {
	if c.waiting == nil {
		return
	}
	var over wire.OverLimit
	if json.Unmarshal(said.Details, &over) != nil {
		over.Limit = ""
	}
	c.waiting(over.Limit, after)
}

func (c *Client) once(req *http.Request, do func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	resp, err := do(req)
	if err == nil {
		if ids := resp.Header.Get(wire.HeaderMail); ids != "" && c.mail != nil {
			c.mail(strings.Split(ids, ","))
		}
		if notice := resp.Header.Get(wire.HeaderDamage); notice != "" && c.damage != nil {
			c.damage(notice)
		}
		return resp, nil
	}
	if ctxErr := req.Context().Err(); ctxErr != nil {
		return nil, ctxErr
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	if busy := (*BusyError)(nil); errors.As(err, &busy) {
		return nil, busy
	}
	if refused := (*Error)(nil); errors.As(err, &refused) { // the server did not prove that it knows the token
		return nil, refused
	}
	return nil, &ConnectionError{URL: c.Base(), Err: err}
}

// answer sends the request and reads the whole answer; it returns a negative one as an *Error.
func (c *Client) answer(req *http.Request) (*http.Response, []byte, error) {
	resp, err := c.send(req)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= 300 {
		return nil, nil, c.failed(resp)
	}
	body, err := readAll(resp)
	if err != nil {
		if ctxErr := req.Context().Err(); ctxErr != nil {
			return nil, nil, ctxErr
		}
		return nil, nil, &ConnectionError{URL: c.Base(), Err: err}
	}
	return resp, body, nil
}

// failed returns the error of a negative answer. A supervisor that does not reach the server says so in its place.
func (c *Client) failed(resp *http.Response) error {
	said := errorOf(resp)
	if said.Code == wire.CodeNoServer {
		return &ConnectionError{URL: "the server", Err: errors.New(said.Why)}
	}
	return said
}

func readAll(resp *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	}
	return body, err
}
