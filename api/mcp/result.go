package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"maestro/commands"
	"maestro/internal/lazyregexp"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// MaxAnswer bounds the answer to a model, in bytes: a longer one would fill its memory.
const MaxAnswer = 4 << 20

func words(text string) *sdk.TextContent { return &sdk.TextContent{Text: text} }

// result is an answer as the result of a tool: the same bytes.
func (t *tool) result(answer Answer) *sdk.CallToolResult {
	if answer.Status >= http.StatusMultipleChoices {
		return refusal(problemOf(answer))
	}
	if answer.Cut || !utf8.Valid(answer.Body) {
		return refusal(tooLong("maestro " + strings.ReplaceAll(t.row.ID, ":", " ")))
	}
	result := &sdk.CallToolResult{Content: []sdk.Content{words(strings.TrimSuffix(string(answer.Body), "\n"))}}
	if next := answer.Header.Get(wire.HeaderNext); next != "" {
		result.Content = append(result.Content, words("There is more: call "+t.name+" again with the cursor "+next))
	}
	return result
}

func tooLong(line string) wire.Problem {
	return wire.Problem{
		Code:    string(commands.CodeTooLarge),
		Message: "The answer is not a text of at most 4 MiB",
		Why:     "a model would have to read all of it",
		Next:    "ask for less, or run `" + line + "` in a shell and write it to a file",
	}
}

// problemOf returns the problem of a negative answer.
func problemOf(answer Answer) (p wire.Problem) {
	if json.Unmarshal(answer.Body, &p) != nil || p.Message == "" {
		p = wire.Problem{
			Code:    wire.CodeUnavailable,
			Message: "The server did not answer this call",
			Why:     "its log says why",
			Next:    "call it again",
		}
	}
	return p
}

// refusal is a problem as the result of a tool, for a model to read: what, why, and what to do next.
func refusal(p wire.Problem) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{words(sentences(p))}}
}

// sentences says what a problem is, and names the tools of the command lines in it.
func sentences(p wire.Problem) string {
	lines := []string{p.Code + ": " + safetext.Continued(p.Message)}
	if p.Pointer != "" {
		lines = append(lines, "argument: "+strings.TrimPrefix(p.Pointer, "/"))
	}
	if p.Why != "" {
		lines = append(lines, "why: "+safetext.Continued(p.Why))
	}
	if p.Next != "" {
		lines = append(lines, "next: "+safetext.Continued(p.Next))
	}
	var tools []string
	for _, line := range commandLine().FindAllStringSubmatch(p.Next, -1) {
		if name := toolOf(line[1]); name != "" && !slices.Contains(tools, name) {
			tools = append(tools, name)
		}
	}
	if len(tools) > 0 {
		lines = append(lines, "as a tool: "+strings.Join(tools, ", "))
	}
	return strings.Join(lines, "\n")
}

// commandLine is a command line in a text.
var commandLine = lazyregexp.New("`maestro ([^`]+)`")

// toolOf returns the tool of a command line; "" if there is none.
func toolOf(line string) string {
	parts := strings.Fields(line)
	for n := min(len(parts), 2); n > 0; n-- {
		row, ok := commands.CurrentRules().Row(strings.Join(parts[:n], ":"))
		if ok && !row.Planned && row.Alias == "" {
			return wire.ToolOf(row.ID)
		}
	}
	return ""
}

// mail says what unread mail the caller has. It stays unread until the model confirms it: a result may get lost.
func (c Caller) mail(ctx context.Context) []sdk.Content {
	answer := c.get(ctx, "/api/sessions/"+c.Session+"/mail", nil)
	var box wire.Mailbox
	if answer.Status != http.StatusOK || json.Unmarshal(answer.Body, &box) != nil || len(box.Mail) == 0 {
		return nil
	}
	return []sdk.Content{words("You have unread mail. Read it, and confirm each piece with the tool " +
		wire.ToolOf("input:received") + " and its id as inputId:\n" + strings.TrimSuffix(string(answer.Body), "\n"))}
}
