package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"maestro/api/client"
	"maestro/service/wire"
)

// busy answers 429 some times, and then 200.
type busy struct {
	times      int
	retryAfter string
	bodies     []string
}

func (b *busy) RoundTrip(r *http.Request) (*http.Response, error) {
	body := []byte{}
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	b.bodies = append(b.bodies, string(body))
	if len(b.bodies) <= b.times {
		header := http.Header{}
		if b.retryAfter != "" {
			header.Set("Retry-After", b.retryAfter)
		}
		text := `{"error":true,"code":"RATE_LIMITED","message":"too many","details":{"limit":"session-commands"}}`
		return &http.Response{StatusCode: 429, Header: header, Body: io.NopCloser(strings.NewReader(text))}, nil
	}
	return &http.Response{
		StatusCode: 200, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader(`{"sequence":7,"event":null}`)),
	}, nil
}

// TestRateLimitedCallsAreRetried: a client that gets 429 retries the same request, and gives up in time.
func TestRateLimitedCallsAreRetried(t *testing.T) {
	for name, c := range map[string]struct {
		busy  busy
		tries int
		took  time.Duration
		fails bool
	}{
		"once":            {busy{times: 1, retryAfter: "3"}, 2, 3 * time.Second, false},
		"often":           {busy{times: 4, retryAfter: "5"}, 5, 20 * time.Second, false},
		"too often":       {busy{times: 100, retryAfter: "5"}, 5, 20 * time.Second, true},
		"too long":        {busy{times: 1, retryAfter: "60"}, 1, 0, true},
		"nobody says":     {busy{times: 1}, 1, 0, true},
		"a date":          {busy{times: 1, retryAfter: "Sun, 22 Nov 2026 01:00:00 GMT"}, 1, 0, true},
		"not a good time": {busy{times: 1, retryAfter: "-1"}, 1, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				answer, err := client.New("http://x", "t", client.WithTransport(&c.busy)).Do(t.Context(),
					"report:progress", map[string]string{"message": "m"}, client.Options{Key: "k"})
				var said *client.Error
				switch {
				case c.fails && (!errors.As(err, &said) || said.Status != http.StatusTooManyRequests):
					t.Errorf("it fails with %v, want 429", err)
				case !c.fails && (err != nil || answer.Sequence != 7):
					t.Errorf("it answers %+v, %v", answer, err)
				}
				if len(c.busy.bodies) != c.tries || time.Since(began) != c.took {
					t.Errorf("%d tries in %s, want %d in %s", len(c.busy.bodies), time.Since(began), c.tries, c.took)
				}
				for _, body := range c.busy.bodies {
					if body != `{"message":"m"}` {
						t.Errorf("it sent %q", body)
					}
				}
			})
		})
	}
}

// TestWaitIsReported: a client reports the limit and the duration before it waits.
func TestWaitIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var told []string
		c := client.New("http://x", "t", client.WithTransport(&busy{times: 2, retryAfter: "5"}),
			client.WithWaiting(func(limit string, after time.Duration) {
				told = append(told, limit+" "+after.String()+" at "+time.Since(began).String())
			}))
		if _, err := c.Whoami(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := []string{"session-commands 5s at 0s", "session-commands 5s at 5s"}; !slices.Equal(told, want) {
			t.Errorf("it reports %q, want %q", told, want)
		}
	})
}

// TestWaitForServerEndsWithContext: the wait of a client ends with its context.
func TestWaitForServerEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c := client.New("http://x", "t", client.WithTransport(&busy{times: 1, retryAfter: "10"}))
		if _, err := c.Whoami(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it fails with %v", err)
		}
	})
}

// book answers with a list of this many numbers in pages.
type book struct {
	numbers, page int
	asked         []string
}

func (b *book) RoundTrip(r *http.Request) (*http.Response, error) {
	b.asked = append(b.asked, r.URL.RawQuery)
	from, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	header, text := http.Header{}, []string{}
	for i := from; i < min(from+b.page, b.numbers); i++ {
		text = append(text, fmt.Sprintf(`{"number":%d}`, i))
	}
	if from+b.page < b.numbers {
		header.Set(wire.HeaderNext, strconv.Itoa(from+b.page))
	}
	list := io.NopCloser(strings.NewReader("[" + strings.Join(text, ",") + "]\n"))
	return &http.Response{StatusCode: 200, Header: header, Body: list}, nil
}

// TestAllPagesAreRead: the client joins the pages of a list.
func TestAllPagesAreRead(t *testing.T) {
	for _, b := range []book{{0, 3, nil}, {1, 3, nil}, {3, 3, nil}, {4, 3, nil}, {10, 3, nil}, {10, 1, nil}} {
		c := client.New("http://x", "t", client.WithTransport(&b))
		denials, err := c.Denials(t.Context(), wire.DenialFilter{Limit: "3"})
		if err != nil {
			t.Fatal(err)
		}
		if len(denials) != b.numbers || b.numbers > 0 && denials[b.numbers-1].Number != uint64(b.numbers-1) {
			t.Errorf("of %d numbers, %d to a page, it reads %v", b.numbers, b.page, denials)
		}
		for _, asked := range b.asked {
			if !strings.Contains(asked, "limit=3") {
				t.Errorf("a page was requested with %q", asked)
			}
		}
	}
}

// endless answers every request with an empty page that leads to another.
type endless struct{ asked int }

func (e *endless) RoundTrip(*http.Request) (*http.Response, error) {
	e.asked++
	header := http.Header{}
	header.Set(wire.HeaderNext, strconv.Itoa(e.asked))
	return &http.Response{StatusCode: 200, Header: header, Body: io.NopCloser(strings.NewReader("[]"))}, nil
}

// Empty pages may follow each other while a search finds nothing. A list without an end is an error: the other side is
// not a Maestro server.
func TestEndlessListIsAnError(t *testing.T) {
	for name, read := range map[string]func(c *client.Client) error{
		"the whole list": func(c *client.Client) error {
			_, err := c.Denials(t.Context(), wire.DenialFilter{})
			return err
		},
		"its first items": func(c *client.Client) error {
			_, err := c.FirstTasks(t.Context(), wire.TaskFilter{}, 3)
			return err
		},
	} {
		e := &endless{}
		err := read(client.New("http://x", "t", client.WithTransport(e)))
		if err == nil || e.asked < 100 || e.asked > 2000 {
			t.Errorf("%s: %v after %d requests", name, err, e.asked)
		}
	}
}
