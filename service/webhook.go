package service

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"github.com/google/uuid"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/projections"
	"maestro/service/wire"
)

// Webhooks sends events to webhooks.
type Webhooks interface {
	// Check refuses a URL to which nothing would be sent, as far as it shows that.
	Check(url string) error
	// Doubt says why it is not certain that anything is sent to a URL that Check accepts; "" if nothing is known.
	Doubt(url string) string
	// TryNow tries at once what is to be tried again later.
	TryNow(id string)
	// Sent counts the events that receivers accepted, and the tries that failed, since the start.
	Sent() (accepted, failed uint64)
	// Delivery returns how far a webhook is; false if nothing is known of it.
	Delivery(id string, head uint64) (wire.Delivery, bool)
	// Test sends a message once.
	Test(ctx context.Context, url string, secret []byte, id string, body []byte) wire.WebhookTest
}

// WebhookSecretPrefix begins the secret of a webhook, as Standard Webhooks says.
const WebhookSecretPrefix = "whsec_"

// WebhookSecret returns the key with which a webhook signs. Like every secret it is derived, never stored.
func (s *Service) WebhookSecret(id string, generation int) []byte {
	mac := hmac.New(sha256.New, s.Keys.ServerKey)
	// A hash never fails to write.
	_, _ = io.WriteString(mac, "maestro webhook\x00"+id+"\x00"+strconv.Itoa(generation))
	return mac.Sum(nil)
}

// webhookSecret returns the secret as receivers are given it.
func (s *Service) webhookSecret(id string, generation int) string {
	return WebhookSecretPrefix + base64.StdEncoding.EncodeToString(s.WebhookSecret(id, generation))
}

// webhookSecretNow returns the secret of an event for the caller of a retry: "" unless it may still use the command,
// and the secret still signs.
func (s *Service) webhookSecretNow(c *Caller, id string, data events.Data, secret string) (shown string) {
	if s.Permit(c, id, "") != nil {
		return ""
	}
	_, webhook := data.Aggregate()
	s.Handler.View(func(state *projections.State) {
		if x := state.Webhook(webhook); x != nil && s.webhookSecret(x.ID, x.Generation) == secret {
			shown = secret
		}
	})
	return shown
}

// receiving stands for the receiver of a webhook: it sees what a read-only token does, so the variables of sessions,
// which may hold secrets, are not sent.
var receiving = &Caller{By: commands.Actor{
	Kind: commands.ActorUser, Name: "webhook", Access: commands.AccessReadOnly,
}}

// WebhookText returns an event as the receivers of webhooks see it: the stored text, unless they may not see all of it.
func (s *Service) WebhookText(e *events.Event, text []byte) []byte {
	shown := e
	s.Handler.View(func(state *projections.State) {
		shown = newSight(s.At(state, receiving), WatchFilter{}).eventAsSeen(e)
	})
	if shown == e {
		return text
	}
	text, err := shown.Append(nil)
	if err != nil { // it was decoded
		panic(err)
	}
	return text
}

// checkWebhook refuses a webhook to which nothing would be sent.
func (s *Service) checkWebhook(command commands.Command) error {
	url := ""
	switch x := command.(type) {
	case *commands.CreateWebhook:
		url = x.URL
	case *commands.UpdateWebhook:
		if x.URL != nil {
			url = *x.URL
		}
	}
	if s.Webhooks == nil || commands.ValidURL(url) != nil {
		return nil // the decision says what is wrong with it
	}
	err := s.Webhooks.Check(url)
	if err == nil {
		return nil
	}
	refusal := &commands.Refusal{
		Code:    commands.CodeRule,
		Pointer: "/url",
		Message: "The webhook would get nothing: " + err.Error(),
		Why:     "a webhook must not reach what only this machine or its network can reach",
		Next:    "give an address on the public internet, with https://",
	}
	var allows interface{ Next() string }
	if errors.As(err, &allows) {
		refusal.Next = allows.Next()
	}
	return refusal
}

// warnOfWebhook says what keeps a webhook from sending that the caller has just created, changed or resumed. One that
// is resumed without being parked tries at once what failed.
func (s *Service) warnOfWebhook(command commands.Command, done engine.Answer) (warnings []string) {
	id, moved := "", false
	switch x := command.(type) {
	case *commands.CreateWebhook:
		if done.Data != nil {
			_, id = done.Data.Aggregate()
		}
		moved = true
	case *commands.UpdateWebhook:
		id, moved = x.WebhookID, x.URL != nil
	case *commands.ResumeWebhook:
		id, moved = x.WebhookID, true
	}
	if s.Webhooks == nil || id == "" {
		return nil
	}
	var x *projections.Webhook
	s.Handler.View(func(state *projections.State) { x = state.Webhook(id) })
	if x == nil {
		return nil
	}
	if _, resumes := command.(*commands.ResumeWebhook); resumes && done.Event == nil { // it is not parked
		s.Webhooks.TryNow(id)
	}
	if x.Parked != nil {
		warnings = append(warnings,
			"Webhook "+id+" stays parked and sends nothing: run `maestro webhook resume "+id+"`")
	}
	if !moved {
		return warnings
	}
	if err := s.Webhooks.Check(x.URL); err != nil { // it was allowed when it was created
		return append(warnings, "Webhook "+id+" gets nothing: "+err.Error())
	}
	if doubt := s.Webhooks.Doubt(x.URL); doubt != "" {
		warnings = append(warnings, doubt+". `maestro webhook test "+id+"` shows whether it does")
	}
	return warnings
}

// ListWebhooks returns the webhooks, with how far their receivers are; never a secret. The returned function finds
// them, and runs without the state.
func (v View) ListWebhooks() (func() (Page[wire.Webhook], error), error) {
	if err := v.Permit("webhook:list", ""); err != nil {
		return nil, err
	}
	asked, err := v.Caller.page()
	ids := v.WebhookIDs()
	return func() (Page[wire.Webhook], error) {
		return pageOf(v, asked, []restOf{{ids: ids}}, func(v View, _, id string) (wire.Webhook, bool) {
			x := v.Webhook(id)
			if x == nil {
				return wire.Webhook{}, false
			}
			return v.webhook(x), true
		})
	}, err
}

// GetWebhook returns a webhook.
func (v View) GetWebhook(in *wire.WebhookID) (wire.Webhook, error) {
	x, err := v.aWebhook("webhook:get", in.ID)
	if err != nil {
		return wire.Webhook{}, err
	}
	return v.webhook(x), nil
}

// GetWebhookSecret returns the secret of a webhook.
func (v View) GetWebhookSecret(in *wire.WebhookID) (wire.WebhookSecret, error) {
	x, err := v.aWebhook(RowOfWebhookSecret, in.ID)
	if err != nil {
		return wire.WebhookSecret{}, err
	}
	return wire.WebhookSecret{
		Secret:     v.Service.webhookSecret(x.ID, x.Generation),
		Generation: x.Generation,
	}, nil
}

func (v View) aWebhook(row, id string) (*projections.Webhook, error) {
	if err := v.Permit(row, ""); err != nil {
		return nil, err
	}
	x := v.Webhook(id)
	if x == nil {
		return nil, NotFound("Webhook", id)
	}
	return x, nil
}

func (v View) webhook(x *projections.Webhook) wire.Webhook {
	view := wire.Webhook{WebhookView: x.View()}
	if v.Service.Webhooks == nil {
		return view
	}
	if delivery, known := v.Service.Webhooks.Delivery(x.ID, v.Head().Sequence); known {
		view.Delivery = &delivery
	}
	return view
}

// RowOfWebhookSecret is the row of the permission table for reading the secret of a webhook, RowOfWebhookTest that for
// sending it a test: who may create one may do both.
const (
	RowOfWebhookSecret = "webhook:create"
	RowOfWebhookTest   = "webhook:update"
)

// testType is the type of test messages. They are not in the log.
const testType = "maestro.webhook.test.v1"

// TestWebhook sends a test message to a webhook, also to a parked one. It is not an event, and changes nothing.
func (s *Service) TestWebhook(ctx context.Context, c *Caller, id string) (test wire.WebhookTest, err error) {
	leave, err := s.admitted(ctx, c, Demand{Writes: true})
	if err != nil {
		return test, err
	}
	defer leave()
	if err := s.beginWait(ctx, c); err != nil {
		return test, err
	}
	var x *projections.Webhook
	s.Handler.View(func(state *projections.State) { x, err = s.At(state, c).aWebhook(RowOfWebhookTest, id) })
	switch {
	case err != nil:
		return test, err
	case s.Webhooks == nil:
		return test, &Problem{
			Kind:    KindUnavailable,
			Code:    wire.CodeUnavailable,
			Message: "This server sends nothing to webhooks",
			Why:     "it was started with --read-only",
			Next:    "ask the server that writes",
		}
	}
	message := "test_" + uuid.NewString()
	body, err := json.Marshal(struct {
		SpecVersion     string            `json:"specversion"`
		ID              string            `json:"id"`
		Source          string            `json:"source"`
		Subject         string            `json:"subject"`
		Time            string            `json:"time"`
		Type            string            `json:"type"`
		DataContentType string            `json:"datacontenttype"`
		Data            map[string]string `json:"data"`
	}{
		"1.0", message, c.By.Source(), "webhook/" + x.ID, s.Now().UTC().Format("2006-01-02T15:04:05.000Z"), testType,
		"application/json",
		map[string]string{"webhookId": x.ID},
	})
	if err != nil {
		return test, err
	}
	return s.Webhooks.Test(ctx, x.URL, s.WebhookSecret(x.ID, x.Generation), message, body), nil
}

// ParkedWebhooks warns of webhooks that send nothing until somebody resumes them.
func (s *Service) ParkedWebhooks() (warnings []wire.Warning) {
	s.Handler.View(func(state *projections.State) {
		for x := range state.Webhooks() {
			if x.Parked != nil {
				warnings = append(warnings, wire.Warning{
					Code:    "WEBHOOK",
					Message: "Webhook " + x.ID + " is parked and sends nothing (" + string(x.Parked.Why) + ")",
					Next:    "see `maestro webhook get " + x.ID + "`, then `maestro webhook resume " + x.ID + "`",
				})
			}
		}
	})
	return warnings
}
