package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"maestro/service/wire"
)

// Client speaks to one server with one credential. Safe for concurrent use.
type Client struct {
	base    atomic.Pointer[string]
	token   string
	version string
	http    *http.Client
	dial    dialFunc // nil if the server does not have to identify itself
	ready   atomic.Pointer[readyConn]
	mail    func(ids []string)
	waiting func(limit string, after time.Duration)
	damage  func(notice string)
	// patience is how long it waits in all for a server that says "too many calls".
	patience time.Duration
	// within is how long an answer may take that is not waited for on purpose; 0 for ever.
	within time.Duration
}

// defaultPatience is long enough for who met a limit by accident.
const defaultPatience = 20 * time.Second

// Option changes how a Client is made.
type Option func(*Client)

// WithVersion names the caller's version to the server.
func WithVersion(version string) Option { return func(c *Client) { c.version = version } }

// WithPatience sets how long a call waits in all when the server answers 429; 0 gives that answer at once.
func WithPatience(patience time.Duration) Option { return func(c *Client) { c.patience = patience } }

// WithTimeout sets how long an answer may take, beside what it is asked to wait: then the call fails with
// [context.DeadlineExceeded]. A stream and an audit take as long as they take. 0, the default, waits for ever.
func WithTimeout(within time.Duration) Option { return func(c *Client) { c.within = within } }

// WithMail calls told whenever an answer of the server names mail that the calling session was not yet shown: answers
// to its questions, and messages. It may be called from several goroutines.
func WithMail(told func(ids []string)) Option { return func(c *Client) { c.mail = told } }

// WithDamage calls told whenever the server says that what it shows is not all that was acknowledged, and why. It may
// be called from several goroutines.
func WithDamage(told func(notice string)) Option { return func(c *Client) { c.damage = told } }

// WithWaiting calls told before a call waits because the server answered 429: for which limit, "" if the server does
// not say, and for how long. It may be called from several goroutines.
func WithWaiting(told func(limit string, after time.Duration)) Option {
	return func(c *Client) { c.waiting = told }
}

// New makes a Client for the server at baseURL ("http://127.0.0.1:3000"). token may be empty.
func New(baseURL, token string, opts ...Option) *Client {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}
	c := &Client{
		token:   token,
		version: "unknown",

		patience: defaultPatience,
		http: &http.Client{
			Transport: &http.Transport{
				DialContext:         dialer.DialContext,
				MaxIdleConns:        1024,
				MaxIdleConnsPerHost: 1024,
				IdleConnTimeout:     90 * time.Second,
				TLSHandshakeTimeout: 10 * time.Second,
			},
			// A token goes to the server it was meant for, and nowhere else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	c.Move(baseURL)
	for _, opt := range opts {
		opt(c)
	}
	return c
}

// Base is the address of the server.
func (c *Client) Base() string { return *c.base.Load() }

// Move makes later calls go to another address, at which the same server answers now.
func (c *Client) Move(baseURL string) {
	base := strings.TrimRight(baseURL, "/")
	c.base.Store(&base)
}

// Close ends the connections that wait for further use.
func (c *Client) Close() {
	c.http.CloseIdleConnections()
	if ready := c.ready.Swap(nil); ready != nil {
		_ = ready.Close()
	}
}

// Options go with a command.
type Options struct {
	// Key makes a retry recognisable; a fresh one if empty.
	Key string
	// TraceParent is a W3C trace context; may be empty.
	TraceParent string
	// OccurredAt is when it was said, if it waited; else zero.
	OccurredAt time.Time
	// DryRun asks what would happen, and nothing does.
	DryRun bool
	// Tree, of session:kill and of token:revoke of a session, does the same to the living sessions below it.
	Tree bool
	// Wait, of queue:start, waits so long for an item; the server bounds it.
	Wait time.Duration
}

// query returns what the options say in the address.
func (o Options) query() url.Values {
	query := url.Values{}
	if o.DryRun {
		query.Set("dryRun", "true")
	}
	if o.Tree {
		query.Set("tree", "true")
	}
	if o.Wait > 0 {
		query.Set("wait", o.Wait.String())
	}
	return query
}

// Answer is the result of a command.
type Answer = wire.Done

// Do asks for a command. body is marshalled to the JSON object of its fields; nil is an empty one. It fails with
// *Error, *ConnectionError or ctx's error. It tries again only after 429, which says that nothing happened and when
// to come back, and only for as long as [WithPatience] says.
func (c *Client) Do(ctx context.Context, commandID string, body any, o Options) (Answer, error) {
	text := []byte("{}")
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return Answer{}, fmt.Errorf("the body of %s: %w", commandID, err)
		}
	}
	ctx, cancel := c.patiently(ctx, o.Wait)
	defer cancel()
	req, err := c.request(ctx, http.MethodPost, "/api/commands/"+url.PathEscape(commandID), o.query(),
		bytes.NewReader(text))
	if err != nil {
		return Answer{}, err
	}
	if o.Key == "" {
		o.Key = uuid.NewString()
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(wire.HeaderKey, o.Key)
	if o.TraceParent != "" {
		req.Header.Set(wire.HeaderTraceParent, o.TraceParent)
	}
	if !o.OccurredAt.IsZero() {
		req.Header.Set(wire.HeaderOccurredAt, o.OccurredAt.UTC().Format(time.RFC3339Nano))
	}
	resp, answer, err := c.answer(req)
	if err != nil {
		return Answer{}, err
	}
	var said Answer
	if err := json.Unmarshal(answer, &said); err != nil {
		return Answer{}, notOurs(resp, err)
	}
	if string(said.Event) == "null" {
		said.Event = nil
	}
	said.Retried = resp.Header.Get(wire.HeaderRetried) == "true"
	return said, nil
}

// patiently allows a call the time that an answer may take, beside what it is asked to wait.
func (c *Client) patiently(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	if c.within <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, c.within+wait)
}

// get reads a view into out. A list that comes in pages is read to its end.
func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	req, err := c.request(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return err
	}
	resp, answer, err := c.answer(req)
	if err != nil {
		return err
	}
	if resp.Header.Get(wire.HeaderNext) != "" && !bytes.HasPrefix(answer, []byte{'{'}) { // an object says what follows
		if answer, err = c.pages(ctx, path, query, resp, answer); err != nil {
			return err
		}
	}
	return decoded(resp, answer, out)
}

// decode sends the request and reads the answer into out.
func (c *Client) decode(req *http.Request, out any) error {
	resp, answer, err := c.answer(req)
	if err != nil {
		return err
	}
	return decoded(resp, answer, out)
}

func decoded(resp *http.Response, answer []byte, out any) error {
	if err := json.Unmarshal(answer, out); err != nil {
		return notOurs(resp, err)
	}
	return nil
}

// pages reads the pages behind the first and returns the list that they are together.
func (c *Client) pages(
	ctx context.Context, path string, query url.Values, resp *http.Response, list []byte,
) ([]byte, error) {
	asked := url.Values{}
	maps.Copy(asked, query)
	list = bytes.TrimSpace(list)
	for next := resp.Header.Get(wire.HeaderNext); next != ""; next = resp.Header.Get(wire.HeaderNext) {
		asked.Set("cursor", next)
		req, err := c.request(ctx, http.MethodGet, path, asked, nil)
		if err != nil {
			return nil, err
		}
		var page []byte
		if resp, page, err = c.answer(req); err != nil {
			return nil, err
		}
		page = bytes.TrimSpace(page)
		switch {
		case len(list) < 2 || len(page) < 2 || list[0] != '[' || page[0] != '[':
			return nil, notOurs(resp, errors.New("a page is not a list"))
		case len(list)+len(page) > maxAnswer:
			return nil, notOurs(resp, fmt.Errorf("the list is longer than %d bytes", maxAnswer))
		case len(page) == 2: // nothing was left
			continue
		case len(list) > 2:
			list = append(list[:len(list)-1], ',')
		default:
			list = list[:1]
		}
		list = append(list, page[1:]...)
	}
	return list, nil
}

// stream reads a long body as it comes; the caller closes it. It fails as Do does; what breaks later, its Read says.
func (c *Client) stream(ctx context.Context, path string, query url.Values) (io.ReadCloser, error) {
	req, err := c.request(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.send(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		defer func() { _ = resp.Body.Close() }()
		return nil, errorOf(resp)
	}
	return resp.Body, nil
}
