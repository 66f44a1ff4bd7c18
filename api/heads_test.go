package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"maestro/service"
)

// TestHeadsAreBounded: a request head with too many lines is refused before net/http stores them; lines of bodies, and
// of earlier calls on the connection, do not count.
func TestHeadsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heads := 0
		dial := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			heads++
			_, _ = io.Copy(io.Discard, r.Body)
		}), &service.Limits{})
		status := func(c io.ReadWriter, in *bufio.Reader, request string) int {
			t.Helper()
			go func() { _, _ = io.WriteString(c, request) }() // the rest of a refused head is not read
			r, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			return r.StatusCode
		}
		honest := dial()
		in := bufio.NewReader(honest)
		body := strings.Repeat("\n", 500)
		post := fmt.Sprintf(
			"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n%s\r\n%s",
			len(body),
			strings.Repeat("X: y\r\n", 60),
			body,
		)
		for range 5 {
			if got := status(honest, in, post); got != 200 {
				t.Fatalf("an honest call got %d", got)
			}
		}
		hostile := dial()
		many := "GET / HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X: y\r\n", 200)
		if got := status(hostile, bufio.NewReader(hostile), many); got != 431 {
			t.Errorf("200 lines without an end got %d, want 431", got)
		}
		if heads != 5 {
			t.Errorf("%d calls were served, want 5", heads)
		}
	})
}
