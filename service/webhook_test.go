package service

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"

	"maestro/commands"
	"maestro/events"
	"maestro/service/wire"
)

// Receivers get the stored event, without the variables of sessions, which may hold secrets.
func TestWebhookText(t *testing.T) {
	w := newWorld(t)
	project := w.do(w.admin(), "project:create", `{"name":"Alpha"}`).Data.(*events.ProjectCreated).ProjectID
	w.do(w.admin(), "session:register", `{"sessionId":"s1","create":true,"project":"`+project+
		`","role":"worker","env":{"KEY":"s3cret"}}`)
	w.do(w.admin(), "session:update", `{"sessionId":"s1","env":{"KEY":"s3cret"}}`)
	w.do(w.admin(), "session:update", `{"sessionId":"s1","name":"shown"}`)
	for i, m := range w.log.messages {
		e, err := events.Decode(m.Body)
		if err != nil {
			t.Fatal(err)
		}
		text := string(w.WebhookText(e, m.Body))
		secret := strings.Contains(string(m.Body), "s3cret")
		if strings.Contains(text, "s3cret") || (text == string(m.Body)) == secret {
			t.Errorf("event %d is sent as %s", i+1, text)
		}
	}
}

// The secret is shown by the command that makes it, by a retry while it signs, and never in the log.
func TestWebhookSecret(t *testing.T) {
	w := newWorld(t)
	try := func(id, body, key string) string {
		t.Helper()
		done, err := w.try(w.admin(), id, body, key)
		if err != nil {
			t.Fatal(err)
		}
		return done.Token
	}
	create := `{"url":"https://example.org/"}`
	first := try("webhook:create", create, "k")
	hook := ""
	_ = w.Look(t.Context(), w.admin(), func(v View) error { hook = v.WebhookIDs()[0]; return nil })
	if want := WebhookSecretPrefix + base64.StdEncoding.EncodeToString(w.WebhookSecret(hook, 1)); first != want {
		t.Errorf("the secret is %s, want %s", first, want)
	}
	if again := try("webhook:create", create, "k"); again != first {
		t.Errorf("a retry shows %q", again)
	}
	update := `{"webhookId":"` + hook + `","newSecret":true}`
	second := try("webhook:update", update, "u")
	if second == first || second == "" || try("webhook:update", update, "u") != second {
		t.Errorf("the second secret is %q", second)
	}
	if again := try("webhook:create", create, "k"); again != "" {
		t.Errorf("a retry shows a secret that signs no more: %q", again)
	}
	if named := try("webhook:update", `{"webhookId":"`+hook+`","name":"n"}`, "n"); named != "" {
		t.Errorf("a new name comes with the secret %q", named)
	}
	for _, m := range w.log.messages {
		for _, secret := range []string{first, second} {
			if strings.Contains(string(m.Body), strings.TrimPrefix(secret, WebhookSecretPrefix)) {
				t.Errorf("event %d holds a secret", m.Sequence)
			}
		}
	}
}

// The number of webhooks has a limit, which deleted ones do not count against.
func TestWebhooksAreLimited(t *testing.T) {
	w := newWorld(t)
	if err := w.Limits.Set("server-webhooks=2"); err != nil {
		t.Fatal(err)
	}
	create := `{"url":"https://example.org/"}`
	w.do(w.admin(), "webhook:create", create)
	hook := w.do(w.admin(), "webhook:create", create).Data.(*events.WebhookCreated).WebhookID
	var problem *Problem
	if _, err := w.try(w.admin(), "webhook:create", create, "one more"); !errors.As(err, &problem) ||
		problem.Code != "QUOTA_EXCEEDED" {
		t.Errorf("a third one: %v", err)
	}
	w.do(w.admin(), "webhook:delete", `{"webhookId":"`+hook+`"}`)
	w.do(w.admin(), "webhook:create", create)
}

// A parked webhook is a warning.
func TestParkedWebhooks(t *testing.T) {
	w := newWorld(t)
	hook := w.do(w.admin(), "webhook:create", `{"url":"https://example.org/"}`).Data.(*events.WebhookCreated).WebhookID
	if warnings := w.ParkedWebhooks(); len(warnings) != 0 {
		t.Errorf("one that sends: %+v", warnings)
	}
	system := w.admin()
	system.By = commands.System()
	w.do(system, "webhook:park", `{"webhookId":"`+hook+`","why":"gone","failures":1,"failingFor":0,"patience":0}`)
	if warnings := w.ParkedWebhooks(); len(warnings) != 1 || !strings.Contains(warnings[0].Message, hook) ||
		!slices.Contains(strings.Fields(warnings[0].Next), "resume") {
		t.Errorf("warnings are %+v", warnings)
	}
}

// toSend is a sender that sends nothing to a URL that begins with http://.
type toSend struct{ tried []string }

func (*toSend) Check(url string) error {
	if strings.HasPrefix(url, "http://") {
		return errors.New("nothing is sent there")
	}
	return nil
}
func (*toSend) Doubt(string) string                           { return "It is not certain" }
func (x *toSend) TryNow(id string)                            { x.tried = append(x.tried, id) }
func (*toSend) Sent() (accepted, failed uint64)               { return 0, 0 }
func (*toSend) Delivery(string, uint64) (wire.Delivery, bool) { return wire.Delivery{}, false }
func (*toSend) Test(context.Context, string, []byte, string, []byte) wire.WebhookTest {
	return wire.WebhookTest{}
}

// Who changes or resumes a webhook learns what keeps it from sending. Resumed without being parked, it tries at once.
func TestWebhookWarnings(t *testing.T) {
	w, sender := newWorld(t), &toSend{}
	hook := w.do(w.admin(), "webhook:create", `{"url":"http://example.org/"}`).Data.(*events.WebhookCreated).WebhookID
	w.Webhooks = sender
	named := func(id, fields string) []string {
		return w.do(w.admin(), id, `{"webhookId":"`+hook+`"`+fields+`}`).Warnings
	}
	if got := named("webhook:resume", ""); len(got) != 1 || !strings.Contains(got[0], "nothing is sent there") ||
		!slices.Equal(sender.tried, []string{hook}) {
		t.Errorf("resumed while it sends, it warns %q, and tries %q", got, sender.tried)
	}
	if got := named("webhook:update", `,"name":"n"`); len(got) != 0 {
		t.Errorf("a new name warns %q", got)
	}
	system := w.admin()
	system.By = commands.System()
	w.do(system, "webhook:park", `{"webhookId":"`+hook+`","why":"gone","failures":1,"failingFor":0,"patience":0}`)
	if got := named("webhook:update", `,"url":"https://example.org/"`); len(got) != 2 ||
		!strings.Contains(got[0], "stays parked") || !strings.Contains(got[1], "It is not certain") {
		t.Errorf("moved while it is parked, it warns %q", got)
	}
	if got := named("webhook:resume", ""); len(got) != 1 || len(sender.tried) != 1 {
		t.Errorf("resumed, it warns %q, and tries %q", got, sender.tried)
	}
	var refusal *commands.Refusal
	_, err := w.try(w.admin(), "webhook:create", `{"url":"http://127.0.0.1/\u001b[31m"}`, "bad")
	if !errors.As(err, &refusal) || refusal.Code != commands.CodeInvalid ||
		!strings.Contains(refusal.Message, "printable ASCII") {
		t.Errorf("a URL with control characters: %v", err)
	}
}
