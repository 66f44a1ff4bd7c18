package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// served runs a server over the transport, and returns a writer of its input and a reader of its output.
func served(t *testing.T) (in io.WriteCloser, out *bufio.Reader, done <-chan error) {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	server := sdk.NewServer(&sdk.Implementation{Name: "test"}, nil)
	ended := make(chan error, 1)
	go func() {
		ended <- server.Run(context.Background(), newStdio(inRead, outWrite))
		_ = outWrite.Close()
	}()
	return inWrite, bufio.NewReader(outRead), ended
}

// Every line is answered: what is no message, what is too long, and what is asked. Nothing ends the connection but the
// end of its input, which waits for the answers.
func TestStdioSurvivesWhatIsNoMessage(t *testing.T) {
	in, out, done := served(t)
	ask := func(line, want string) {
		t.Helper()
		go func() { _, _ = io.WriteString(in, line+"\n") }()
		answer, err := out.ReadString('\n')
		if err != nil || !json.Valid([]byte(answer)) || !strings.Contains(answer, want) {
			t.Fatalf("%.80q is answered with %q, %v; expected %s", line, answer, err, want)
		}
	}
	const ping = `{"jsonrpc":"2.0","id":7,"method":"ping"}`
	//nolint:misspell // the protocol's own word
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},`+
		`"clientInfo":{"name":"x","version":"1"}}}`, `"protocolVersion":"2025-06-18"`)
	for _, c := range []struct{ line, want string }{
		{"not JSON", "-32700"},
		{`{"jsonrpc":"2.0",`, "-32700"},
		{`[` + ping + `]`, "-32600"},
		{`{"jsonrpc":"1.0","id":2,"method":"ping"}`, "-32600"},
		{`"` + strings.Repeat("x", 1<<20-1) + `"`, "1 MiB"},
		{`"` + strings.Repeat("x", 1<<20-2) + `"`, "no JSON-RPC 2.0 message"}, // and not too long
		{"\r\n  \n" + ping, `"id":7`},
		{`{"jsonrpc":"2.0","id":3,"method":"nope"}`, "-32601"},
	} {
		ask(c.line, c.want)
		ask(ping, `"result":{}`)
	}
	go func() {
		_, _ = io.WriteString(in, ping) // without the end of the line
		_ = in.Close()
	}()
	if answer, err := out.ReadString('\n'); err != nil || !strings.Contains(answer, `"id":7`) {
		t.Errorf("what is asked last is answered with %q, %v", answer, err)
	}
	if err := <-done; err != nil {
		t.Errorf("the server ends with %v", err)
	}
}
