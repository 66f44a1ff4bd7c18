package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

func newText(a *Run) *cobra.Command {
	return a.group("text", "Long texts, of which tasks, reports and events show the beginning", newTextGet(a))
}

// textGet is `maestro text get`.
type textGet struct {
	*Run
	event uint64
}

func newTextGet(a *Run) *cobra.Command {
	c := &textGet{Run: a}
	cmd := &cobra.Command{
		Use:   "get [<text>]",
		Short: "Print a long text as it is: a description, a report, a question or a manifest",
		Args:  Takes,
		Long: `Print a long text as it is. A text above 64 KiB is stored beside the log: a task,
a timeline or an event shows its first 1024 bytes, and its digest.

Name the text by its digest, or the event that names it with --event. You can
read what is named by something that you may read. A text that was redacted is
gone: the error says who removed it, when and why.`,
		RunE: Running(c.run),
	}
	cmd.Flags().Uint64Var(&c.event, "event", 0, "the event that names the text, in place of a digest")
	ValueName(cmd, "event", "<sequence>")
	return Untold(cmd)
}

func (c *textGet) run(ctx context.Context, args []string) (err error) {
	digest := At(args, 0)
	switch {
	case (digest == "") == (c.event == 0):
		return failure.Usage("Name a digest, or an event with --event").
			WithNext("find the event with `maestro events`, and name it: `maestro text get --event <sequence>`")
	case c.event != 0:
		if digest, err = textOfEvent(ctx, c.Run, c.event); err != nil {
			return err
		}
	}
	text, err := Ask(ctx, c.Run, (*client.Client).Blob, digest)
	if err != nil {
		return err
	}
	c.Result(struct {
		Text    string `json:"text"`
		Bytes   int    `json:"bytes"`
		Content string `json:"content"`
	}{digest, len(text), string(text)}, func() { c.raw(text) })
	return nil
}

// textOfEvent returns the digest of the one long text that an event names.
func textOfEvent(ctx context.Context, a *Run, event uint64) (string, error) {
	sequence := strconv.FormatUint(event, 10)
	found, err := Ask(ctx, a, (*client.Client).Events, wire.EventsQuery{From: sequence, To: sequence})
	if err != nil {
		return "", err
	}
	if len(found.Events) == 0 {
		return "", &failure.Error{
			Code:    failure.NotFound,
			Message: "There is no event " + sequence,
			Next:    "list the events with `maestro events`",
		}
	}
	named, err := digestsIn(found.Events[0])
	if err != nil {
		return "", err
	}
	switch len(named) {
	case 1:
		return named[0].Digest, nil
	case 0:
		return "", failure.Usage("Event %s names no long text", sequence).
			WithWhy("its texts are in the event itself, and the chain of the log depends on them").
			WithNext("read them with `maestro events --from %s --to %s -o jsonl`; they cannot be removed: change the "+
				"password that they hold", safetext.Quoted(sequence), safetext.Quoted(sequence))
	}
	texts := make([]string, len(named))
	for i, text := range named {
		texts[i] = fmt.Sprintf("%s (%s)", text.Digest, text.Field)
	}
	return "", failure.Usage("Event %s names %d long texts: %s", sequence, len(named), strings.Join(texts, ", ")).
		WithNext("name one of them by its digest")
}

func digestsIn(of wire.LogEvent) ([]events.Digest, error) {
	event, err := events.Decode(of.Event)
	if err != nil {
		return nil, unreadableAnswer(err)
	}
	return events.Digests(event.Data), nil
}

// Redacted says that a text was removed for good: "redacted by admin on 2026-01-31: It held a password".
func Redacted(r wire.Redaction) string {
	return "redacted by " + Who(r.By) + " on " + r.At.Time().UTC().Format("2006-01-02") + ": " +
		safetext.OneLine(r.Reason)
}

// whole follows the beginning of a text, if there was more: it says that the text was redacted, or how to read it.
// digest is "" for a whole text.
func whole(digest string, r *wire.Redaction) string {
	switch {
	case r != nil:
		return " (" + Redacted(*r) + ")"
	case digest != "":
		return " (this is its beginning; `maestro text get " + safetext.Quoted(digest) + "` prints it)"
	}
	return ""
}

// wholeField is whole for a field of an object that has several texts.
func wholeField(field string, texts events.Blobs, redacted map[string]wire.Redaction) string {
	if r, was := redacted[field]; was {
		return whole("", &r)
	}
	return whole(texts[field], nil)
}

// longBlock prints a named text with what follows it if it is the beginning of a long one.
func (a *Run) longBlock(name, text, more string) {
	if more != "" {
		text = strings.TrimSpace(text) + "\n" + strings.TrimSpace(more)
	}
	a.block(name, text)
}

// WholeOfEvent follows the words about an event that names long texts: it says which of them were redacted, or how to
// read one of which the event has the beginning.
func WholeOfEvent(sequence uint64, texts []events.Digest, redacted []wire.RedactedText) string {
	words := ""
	var long []string
	for _, named := range texts {
		i := indexOfText(redacted, named.Digest)
		switch {
		case i >= 0:
			words += " (" + strings.TrimSuffix(named.Field, "Digest") + " " + Redacted(redacted[i].RedactionView) + ")"
		case isShortened(named):
			long = append(long, named.Field)
		}
	}
	if len(long) > 0 {
		words += fmt.Sprintf(" (whole %s: `maestro text get --event %d`)", strings.Join(long, ", "), sequence)
	}
	return words
}

// isShortened reports whether an event has the beginning of a text that it names. It has nothing of others, such as a
// manifest.
func isShortened(named events.Digest) bool {
	return !strings.HasSuffix(strings.ToLower(named.Field), "digest")
}

func indexOfText(redacted []wire.RedactedText, digest string) int {
	for i, r := range redacted {
		if r.Text == digest {
			return i
		}
	}
	return -1
}
