package commands

import (
	"slices"
	"strconv"
	"strings"

	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

// CreateWebhook begins to send events to a receiver. Its secret is derived from the server's key: the answer holds it,
// the log does not.
type CreateWebhook struct {
	noTexts
	URL       string   `json:"url" doc:"where the events are sent: https://…"`
	Name      string   `json:"name,omitempty" flag:"\"<name>\"" doc:"as people call it"`
	ProjectID string   `json:"projectId,omitempty" flag:"project <projectId>" doc:"send only events of this project"`
	Types     []string `json:"types,omitempty" flag:"types <types>" doc:"send only these types of event, such as task.created, or nouns, such as task"`
}

// UpdateWebhook changes where a webhook sends what, or gives it a new secret. What it has not sent yet is sent as it is
// then.
type UpdateWebhook struct {
	noTexts
	WebhookID string    `json:"webhookId" doc:"the webhook"`
	URL       *string   `json:"url,omitempty" flag:"url <url>" doc:"where the events are sent from now on"`
	Name      *string   `json:"name,omitempty" flag:"\"<name>\"" doc:"new name"`
	Types     *[]string `json:"types,omitempty" flag:"types <types>" doc:"send only these types of event, such as task.created, or nouns, such as task"`
	NewSecret bool      `json:"newSecret,omitempty" doc:"replace the secret that signs"`
}

// DeleteWebhook ends a webhook.
type DeleteWebhook struct {
	noTexts
	WebhookID string `json:"webhookId" doc:"the webhook"`
}

// ResumeWebhook sends again what a parked webhook has not got, or with Skip only what happens from now on.
type ResumeWebhook struct {
	noTexts
	WebhookID string `json:"webhookId" doc:"the webhook"`
	Skip      bool   `json:"skip,omitempty" doc:"leave out the events until now"`
}

// ParkWebhook stops a webhook whose receiver stays away. Only the system may do it; docs/contract.md, "Webhooks".
type ParkWebhook struct {
	noTexts
	WebhookID string            `json:"webhookId" doc:"the webhook"`
	Why       events.ParkReason `json:"why" flag:"why failing|gone|position unknown" doc:"why it is stopped"`
	Failures  int               `json:"failures" doc:"how often sending failed since it last succeeded"`
	// FailingFor is a duration, so that setting a clock does not change it.
	FailingFor int64  `json:"failingFor" doc:"how long it has failed, in milliseconds"`
	Patience   int64  `json:"patience" doc:"how long it may fail, in milliseconds"`
	Problem    string `json:"problem,omitempty" doc:"what was wrong last"`
}

// ID implements Command.
func (*CreateWebhook) ID() string { return "webhook:create" }

// ID implements Command.
func (*UpdateWebhook) ID() string { return "webhook:update" }

// ID implements Command.
func (*DeleteWebhook) ID() string { return "webhook:delete" }

// ID implements Command.
func (*ResumeWebhook) ID() string { return "webhook:resume" }

// ID implements Command.
func (*ParkWebhook) ID() string { return "webhook:park" }

// A webhook belongs to no project, also if it sends the events of one: its URL is for those who read everything.
func (*CreateWebhook) project(*projections.State, Actor) string { return "" }
func (*UpdateWebhook) project(*projections.State, Actor) string { return "" }
func (*DeleteWebhook) project(*projections.State, Actor) string { return "" }
func (*ResumeWebhook) project(*projections.State, Actor) string { return "" }
func (*ParkWebhook) project(*projections.State, Actor) string   { return "" }

// MaxURL is the maximum length of a webhook's URL, in characters.
const MaxURL = 2000

// MinParkFailures is how often sending must have failed, at least, before a webhook is parked for failing.
const MinParkFailures = 5

// Decide implements Command.
func (x *CreateWebhook) Decide(s *projections.State, c Call) (events.Data, error) {
	if err := validWebhook(&x.URL, &x.Name, x.Types); err != nil {
		return nil, err
	}
	if x.ProjectID != "" {
		if err := ValidID("/projectId", x.ProjectID); err != nil {
			return nil, err
		}
		if s.Project(x.ProjectID) == nil {
			return nil, notFound("Project", x.ProjectID)
		}
	}
	return &events.WebhookCreated{
		WebhookID:  newID("hook", c, s.WebhookEver),
		Name:       x.Name,
		URL:        x.URL,
		ProjectID:  x.ProjectID,
		Types:      unique(x.Types),
		Generation: 1,
	}, nil
}

func (x *CreateWebhook) from(_ *events.Event, d *events.WebhookCreated) bool {
	*x = CreateWebhook{
		URL:       d.URL,
		Name:      d.Name,
		ProjectID: d.ProjectID,
		Types:     d.Types,
	}
	return true
}

// Decide implements Command.
func (x *UpdateWebhook) Decide(s *projections.State, _ Call) (events.Data, error) {
	hook, err := webhook(s, x.WebhookID)
	if err != nil {
		return nil, err
	}
	if x.URL == nil && x.Name == nil && x.Types == nil && !x.NewSecret {
		return nil, invalid("", "At least one of url, name, types or newSecret is required")
	}
	updated := &events.WebhookUpdated{WebhookID: hook.ID, URL: x.URL, Name: x.Name}
	if x.Types != nil {
		types := unique(*x.Types)
		if types == nil {
			types = []string{}
		}
		updated.Types = &types
	}
	var types []string
	if x.Types != nil {
		types = *x.Types
	}
	if err := validWebhook(x.URL, x.Name, types); err != nil {
		return nil, err
	}
	if x.NewSecret {
		updated.Generation = hook.Generation + 1
	}
	return updated, nil
}

func (x *UpdateWebhook) from(_ *events.Event, d *events.WebhookUpdated) bool {
	*x = UpdateWebhook{
		WebhookID: d.WebhookID,
		URL:       d.URL,
		Name:      d.Name,
		Types:     d.Types,
		NewSecret: d.Generation > 0,
	}
	return true
}

// Decide implements Command.
func (x *DeleteWebhook) Decide(s *projections.State, _ Call) (events.Data, error) {
	hook, err := webhook(s, x.WebhookID)
	if err != nil {
		return nil, err
	}
	return &events.WebhookDeleted{WebhookID: hook.ID}, nil
}

func (x *DeleteWebhook) from(_ *events.Event, d *events.WebhookDeleted) bool {
	*x = DeleteWebhook{WebhookID: d.WebhookID}
	return true
}

// Decide implements Command.
func (x *ResumeWebhook) Decide(s *projections.State, _ Call) (events.Data, error) {
	hook, err := webhook(s, x.WebhookID)
	if err != nil || hook.Parked == nil && !x.Skip {
		return nil, err
	}
	return &events.WebhookResumed{WebhookID: hook.ID, Skipped: x.Skip}, nil
}

func (x *ResumeWebhook) from(_ *events.Event, d *events.WebhookResumed) bool {
	*x = ResumeWebhook{WebhookID: d.WebhookID, Skip: d.Skipped}
	return true
}

// Decide implements Command. That its receiver has failed for so long is for the server to know; the log shows whether
// it can be true.
func (x *ParkWebhook) Decide(s *projections.State, c Call) (events.Data, error) {
	hook, err := webhook(s, x.WebhookID)
	if err != nil || hook.Parked != nil {
		return nil, err
	}
	if err := ValidLine("/problem", x.Problem, MaxName); err != nil {
		return nil, err
	}
	switch x.Why {
	case events.ParkGone, events.ParkUnknown:
	case events.ParkFailing:
		if x.Failures < MinParkFailures || x.Patience <= 0 || x.FailingFor < x.Patience ||
			x.FailingFor > c.At.UnixMilli()-hook.StartedAt {
			return nil, forbidden("a webhook is parked only once it has failed for as long as the server is patient",
				"wait until then", "Webhook '%s' has failed %d times in %d ms, and the server is patient for %d ms",
				hook.ID, x.Failures, x.FailingFor, x.Patience)
		}
	default:
		return nil, invalid("/why", "why must be failing, gone or position unknown, not '%s'",
			safetext.Printable(string(x.Why)))
	}
	return &events.WebhookParked{
		WebhookID:  hook.ID,
		Why:        x.Why,
		Failures:   x.Failures,
		FailingFor: x.FailingFor,
		Patience:   x.Patience,
		Problem:    x.Problem,
	}, nil
}

func (x *ParkWebhook) from(_ *events.Event, d *events.WebhookParked) bool {
	*x = ParkWebhook{
		WebhookID:  d.WebhookID,
		Why:        d.Why,
		Failures:   d.Failures,
		FailingFor: d.FailingFor,
		Patience:   d.Patience,
		Problem:    d.Problem,
	}
	return true
}

// webhook refuses a webhook that does not exist.
func webhook(s *projections.State, id string) (*projections.Webhook, error) {
	if err := ValidID("/webhookId", id); err != nil {
		return nil, err
	}
	hook := s.Webhook(id)
	if hook == nil {
		return nil, notFound("Webhook", id)
	}
	return hook, nil
}

func validWebhook(url, name *string, types []string) error {
	if url != nil {
		if err := ValidURL(*url); err != nil {
			return err
		}
	}
	if name != nil {
		if err := ValidLine("/name", *name, MaxName); err != nil {
			return err
		}
	}
	for _, kind := range types {
		if !events.KnownShortType(kind) {
			refusal := invalid("/types", "there is no type of event '%s'", safetext.Printable(kind))
			refusal.Next = "name one of docs/events.md, such as task.created, or a noun such as task"
			return refusal
		}
	}
	return nil
}

// ValidURL refuses what no webhook can send to. It parses the URL itself, because a decision uses no network package:
// the server checks the address again when it connects.
func ValidURL(url string) error {
	refuse := func(format string, args ...any) error {
		refusal := invalid("/url", format, args...)
		refusal.Next = "give an address such as https://example.org/hooks/maestro"
		return refusal
	}
	rest, secure := strings.CutPrefix(url, "https://")
	if !secure {
		var plain bool
		if rest, plain = strings.CutPrefix(url, "http://"); !plain {
			return refuse("url must begin with https://, or http:// where the operator allows it")
		}
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	host := rest[:end]
	switch {
	case len(url) > MaxURL:
		return refuse("url has at most %d characters, this has %d", MaxURL, len(url))
	case strings.ContainsFunc(url, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' || r == '"' }):
		return refuse("url may hold only printable ASCII characters, and no spaces, quotes or backslashes")
	case strings.ContainsRune(url, '#'):
		return refuse("url must not have a fragment")
	case strings.ContainsRune(host, '@'):
		return refuse("url must not hold a user name or a password: it is stored in the log")
	case !validHost(host):
		return refuse("url must name a host, and a port if it has one")
	}
	return nil
}

// validHost reports whether a text is a name or an IP address, with a port if it has one.
func validHost(host string) bool {
	name, port := host, ""
	if at := strings.LastIndexByte(host, ':'); at > strings.LastIndexByte(host, ']') {
		name, port = host[:at], host[at+1:]
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return false
		}
	}
	of := func(text, others string) bool {
		return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
			letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
			return !letter && (r < '0' || r > '9') && !strings.ContainsRune(others, r)
		})
	}
	if inner, bracket := strings.CutPrefix(name, "["); bracket {
		inner, closed := strings.CutSuffix(inner, "]")
		return closed && strings.ContainsRune(inner, ':') && of(inner, ":.")
	}
	return of(name, "-._") && !slices.Contains(strings.Split(strings.TrimSuffix(name, "."), "."), "")
}
