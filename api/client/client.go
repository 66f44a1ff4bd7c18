package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
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

// Client calls one server with one credential. It is safe for concurrent use.
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
	roots   *x509.CertPool           // nil for those of the system
	pinned  func(base string) string // nil if no certificate is pinned
	// patience bounds the total wait for a server that answers "too many calls".
	patience time.Duration
	// moment is the time of which reads ask; "" for the present.
	moment string
	// trace is the W3C trace context of writes that have none of their own and were not kept; "" for none.
	trace string
	// within is the time limit for an answer, apart from a requested wait; 0 for none.
	within time.Duration
}

// LookBack makes the reads that follow ask for the views as they were: after the event with a sequence, or at a time in
// RFC 3339; "" for the present. Reads that are about the present are then refused. It must not be called during a read.
func (c *Client) LookBack(moment string) { c.moment = moment }

// asOf adds the moment of which reads ask.
func (c *Client) asOf(query url.Values) url.Values {
	if c.moment == "" {
		return query
	}
	all := maps.Clone(query)
	if all == nil {
		all = url.Values{}
	}
	all.Set("at", c.moment)
	return all
}

// defaultPatience is enough for a caller that reaches a limit by accident.
const defaultPatience = 20 * time.Second

// Option configures a Client.
type Option func(*Client)

// WithVersion tells the server the caller's version.
func WithVersion(version string) Option { return func(c *Client) { c.version = version } }

// WithPatience bounds the total wait of a call while the server answers 429; with 0 the call fails at once.
func WithPatience(patience time.Duration) Option { return func(c *Client) { c.patience = patience } }

// WithTraceParent gives a W3C trace context to the writes that have none of their own, except to those that were kept,
// and to the messages of MCP; "" gives none.
func WithTraceParent(trace string) Option { return func(c *Client) { c.trace = trace } }

// WithTimeout bounds the time for an answer, apart from a requested wait: then the call fails with
// [context.DeadlineExceeded]. Streams and audits have no limit. 0, the default, is no limit.
func WithTimeout(within time.Duration) Option { return func(c *Client) { c.within = within } }

// WithMail calls told whenever an answer of the server names unread mail of the calling session: answers to its
// questions, and messages. told may be called concurrently.
func WithMail(told func(ids []string)) Option { return func(c *Client) { c.mail = told } }

// WithDamage calls told whenever the server says that its answer lacks acknowledged events, and why. told may be called
// concurrently.
func WithDamage(told func(notice string)) Option { return func(c *Client) { c.damage = told } }

// WithWaiting calls told before a call waits because the server answered 429: for which limit, "" if the server does
// not say, and for how long. told may be called concurrently.
func WithWaiting(told func(limit string, after time.Duration)) Option {
	return func(c *Client) { c.waiting = told }
}

// New returns a Client for the server at baseURL ("http://127.0.0.1:3000"). token may be empty.
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
			// A token is only ever sent to the server that it is meant for.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	c.Move(baseURL)
	for _, opt := range opts {
		opt(c)
	}
	if transport, ok := c.http.Transport.(*http.Transport); ok && (c.roots != nil || c.pinned != nil) {
		transport.TLSClientConfig = c.tlsConfig("")
	}
	return c
}

// Base returns the address of the server.
func (c *Client) Base() string { return *c.base.Load() }

// Move makes later calls use another address, at which the same server answers now.
func (c *Client) Move(baseURL string) {
	base := strings.TrimRight(baseURL, "/")
	c.base.Store(&base)
}

// Close closes the idle connections.
func (c *Client) Close() {
	c.http.CloseIdleConnections()
	if ready := c.ready.Swap(nil); ready != nil {
		_ = ready.Close()
	}
}

// Options are the options of a command.
type Options struct {
	// Key is the idempotency key; a new one if empty.
	Key string
	// TraceParent is a W3C trace context; may be empty.
	TraceParent string
	// OccurredAt is when the command was said, if it was kept before; otherwise zero.
	OccurredAt time.Time
	// DryRun tries the command without executing it.
	DryRun bool
	// After names the tasks to which a dry run of task:complete applies the command before.
	After []string
	// Tree applies session:kill, or token:revoke of a session, to the living sessions below it too.
	Tree bool
	// All applies session:message to a whole team: the sessions at work that the caller leads, or for a user those of
	// the message's project. Answer.Team lists them.
	All bool
	// IfFinished lets a command end its session only if the session has no unread mail and holds no item.
	IfFinished bool
	// IfNew asks a question only if the session does not wait for the answer to the same one: Answer.Asked names it.
	IfNew bool
	// Keep asks an agent's supervisor to keep the command if the server cannot take it now: then Answer.Kept says so.
	Keep bool
	// Wait is how long queue:start waits for an item; the server bounds it.
	Wait time.Duration
}

// query returns the options as query parameters.
func (o Options) query() url.Values {
	query := url.Values{}
	if o.DryRun {
		query.Set("dryRun", "true")
	}
	if len(o.After) > 0 {
		query.Set("after", strings.Join(o.After, ","))
	}
	if o.Tree {
		query.Set("tree", "true")
	}
	if o.All {
		query.Set("all", "true")
	}
	if o.IfFinished {
		query.Set("ifFinished", "true")
	}
	if o.IfNew {
		query.Set("ifNew", "true")
	}
	if o.Wait > 0 {
		query.Set("wait", o.Wait.String())
	}
	return query
}

// Answer is the result of a command.
type Answer = wire.Done

// Do executes a command. body is marshalled to the JSON object of its fields; nil is an empty one. It fails with
// *Error, *ConnectionError or ctx's error. It retries only after 429, which says that nothing happened and when to
// retry, and only as long as [WithPatience] permits.
func (c *Client) Do(ctx context.Context, commandID string, body any, o Options) (Answer, error) {
	text := []byte("{}")
	if body != nil {
		var encoded bytes.Buffer
		encoder := json.NewEncoder(&encoded)
		encoder.SetEscapeHTML(false) // it would make a text up to six times as long as the server's limits count it
		if err := encoder.Encode(body); err != nil {
			return Answer{}, fmt.Errorf("the body of %s: %w", commandID, err)
		}
		text = bytes.TrimSuffix(encoded.Bytes(), []byte("\n"))
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
	if o.OccurredAt.IsZero() { // what was kept has the trace of whoever said it, if any
		o.TraceParent = cmp.Or(o.TraceParent, c.trace)
	}
	if o.TraceParent != "" {
		req.Header.Set(wire.HeaderTraceParent, o.TraceParent)
	}
	if !o.OccurredAt.IsZero() {
		req.Header.Set(wire.HeaderOccurredAt, o.OccurredAt.UTC().Format(time.RFC3339Nano))
	}
	if o.Keep {
		req.Header.Set(wire.HeaderKeep, "true")
	}
	resp, answer, err := c.answer(req)
	if err != nil {
		return Answer{}, err
	}
	var said Answer
	if o.Keep && resp.StatusCode == http.StatusAccepted {
		if err := json.Unmarshal(answer, &said.Kept); err != nil {
			return Answer{}, notOurs(resp, err)
		}
		return said, nil
	}
	if err := json.Unmarshal(answer, &said); err != nil {
		return Answer{}, notOurs(resp, err)
	}
	if string(said.Event) == "null" {
		said.Event = nil
	}
	said.Retried = resp.Header.Get(wire.HeaderRetried) == "true"
	return said, nil
}

// patiently returns a context with the time limit of an answer, plus the requested wait.
func (c *Client) patiently(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	if c.within <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, c.within+wait)
}

// get reads a view into out. It reads a list that comes in pages to its end.
func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	query = c.asOf(query)
	req, err := c.request(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return err
	}
	resp, answer, err := c.answer(req)
	if err != nil {
		return err
	}
	// an object's own members say what follows
	if resp.Header.Get(wire.HeaderNext) != "" && !bytes.HasPrefix(answer, []byte{'{'}) {
		if answer, err = c.pages(ctx, path, query, resp, answer); err != nil {
			return err
		}
	}
	return decoded(resp, answer, out)
}

// decode sends the request and decodes the answer into out.
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

// emptyPages bounds how many pages without an item may follow each other. A search returns such pages while it finds
// nothing; a list without an end would, too.
const emptyPages = 1000

var errEmptyPages = errors.New("too many empty pages follow each other")

// pages reads the pages after the first and returns the whole list.
func (c *Client) pages(
	ctx context.Context, path string, query url.Values, resp *http.Response, list []byte,
) ([]byte, error) {
	asked := url.Values{}
	maps.Copy(asked, query)
	list = bytes.TrimSpace(list)
	empty := 0
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
		case len(page) == 2 && empty == emptyPages:
			return nil, notOurs(resp, errEmptyPages)
		case len(page) == 2: // no item was found
			empty++
			continue
		case len(list) > 2:
			list = append(list[:len(list)-1], ',')
		default:
			list = list[:1]
		}
		list, empty = append(list, page[1:]...), 0
	}
	return list, nil
}

// stream reads a long body as it arrives; the caller closes it. It fails as Do does; later failures are errors of its
// Read.
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
		return nil, c.failed(resp)
	}
	return resp.Body, nil
}
