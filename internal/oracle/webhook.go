package oracle

import (
	"net/url"
	"slices"
	"strings"
)

// minFailures is how often sending must have failed, at least, before a webhook is parked for failing.
const minFailures = 5

type webhook struct {
	name, url, project string
	types              []string
	generation         int
	// started is when it began to send to its URL, or resumed, in milliseconds since 1970.
	started int64
	// began is the event with which it did.
	began string
	// after is the event after which it gets events.
	after   uint64
	parked  string
	deleted bool
}

// aWebhook judges that the event's webhook exists, and returns it.
func (c *trial) aWebhook(id string) *webhook {
	w := c.webhooks[id]
	if w == nil || w.deleted {
		c.fault(ruleExists, "webhook %q does not exist", id)
		return nil
	}
	return w
}

// receiver judges the URL of a webhook: it is stored, so it holds no password.
func (c *trial) receiver(address string) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil ||
		strings.Contains(address, "#") || len(address) > 2000 {
		c.fault(ruleWebhook, "%q is not the address of a receiver", address)
	}
}

// sends judges the types that a webhook sends.
func (c *trial) sends(types []string) {
	for i, name := range types {
		exists := func(full string) bool {
			short := strings.TrimSuffix(strings.TrimPrefix(full, "maestro."), ".v1")
			noun, _, _ := strings.Cut(short, ".")
			return name == short || name == noun
		}
		found := false
		for full := range known {
			found = found || exists(full)
		}
		if !found || slices.Contains(types[:i], name) {
			c.fault(ruleWebhook, "%q is not a type of event, or is listed twice", name)
		}
	}
}

type webhookCreated struct {
	WebhookID  string   `json:"webhookId"`
	Name       string   `json:"name"`
	URL        string   `json:"url"`
	ProjectID  string   `json:"projectId"`
	Types      []string `json:"types"`
	Generation int      `json:"generation"`
}

func (f *webhookCreated) about() (kind, id string) { return "webhook", f.WebhookID }
func (f *webhookCreated) commands() []string       { return []string{"webhook:create"} }

func (f *webhookCreated) judge(c *trial) {
	if c.webhooks[f.WebhookID] != nil {
		c.fault(ruleExists, "webhook %q already exists or existed", f.WebhookID)
	}
	if p := c.projects[f.ProjectID]; f.ProjectID != "" && (p == nil || p.deleted) {
		c.fault(ruleExists, "project %q does not exist", f.ProjectID)
	}
	if f.Generation != 1 {
		c.fault(ruleWebhook, "the first secret of a webhook has generation 1, not %d", f.Generation)
	}
	c.receiver(f.URL)
	c.sends(f.Types)
}

func (f *webhookCreated) fold(c *trial) {
	c.webhooks[f.WebhookID] = &webhook{
		name:       f.Name,
		url:        f.URL,
		project:    f.ProjectID,
		types:      f.Types,
		generation: f.Generation,
		started:    c.at(),
		began:      c.event.ID,
		after:      c.sequence,
	}
	c.order.webhooks = append(c.order.webhooks, f.WebhookID)
}

type webhookUpdated struct {
	WebhookID  string    `json:"webhookId"`
	Name       *string   `json:"name"`
	URL        *string   `json:"url"`
	Types      *[]string `json:"types"`
	Generation int       `json:"generation"`
}

func (f *webhookUpdated) about() (kind, id string) { return "webhook", f.WebhookID }
func (f *webhookUpdated) commands() []string       { return []string{"webhook:update"} }

func (f *webhookUpdated) judge(c *trial) {
	w := c.aWebhook(f.WebhookID)
	if f.Name == nil && f.URL == nil && f.Types == nil && f.Generation == 0 {
		c.fault(ruleWebhook, "the update changes nothing")
	}
	if w != nil && f.Generation != 0 && f.Generation != w.generation+1 {
		c.fault(ruleWebhook, "the new secret has generation %d, expected %d", f.Generation, w.generation+1)
	}
	if f.URL != nil {
		c.receiver(*f.URL)
	}
	if f.Types != nil {
		c.sends(*f.Types)
	}
}

func (f *webhookUpdated) fold(c *trial) {
	w := c.webhooks[f.WebhookID]
	if w == nil {
		return
	}
	if f.Name != nil {
		w.name = *f.Name
	}
	if f.URL != nil {
		w.url, w.started, w.began = *f.URL, c.at(), c.event.ID
	}
	if f.Types != nil {
		w.types = *f.Types
	}
	if f.Generation != 0 {
		w.generation = f.Generation
	}
}

type webhookDeleted struct {
	WebhookID string `json:"webhookId"`
}

func (f *webhookDeleted) about() (kind, id string) { return "webhook", f.WebhookID }
func (f *webhookDeleted) commands() []string       { return []string{"webhook:delete"} }
func (f *webhookDeleted) judge(c *trial)           { c.aWebhook(f.WebhookID) }

func (f *webhookDeleted) fold(c *trial) {
	if w := c.webhooks[f.WebhookID]; w != nil {
		w.deleted = true
	}
}

type webhookParked struct {
	WebhookID  string `json:"webhookId"`
	Why        string `json:"why"`
	Failures   int    `json:"failures"`
	FailingFor int64  `json:"failingFor"`
	Patience   int64  `json:"patience"`
	Problem    string `json:"problem"`
}

func (f *webhookParked) about() (kind, id string) { return "webhook", f.WebhookID }
func (f *webhookParked) commands() []string       { return []string{"webhook:park"} }

func (f *webhookParked) judge(c *trial) {
	w := c.aWebhook(f.WebhookID)
	if w == nil {
		return
	}
	if w.parked != "" {
		c.fault(ruleWebhook, "webhook %s was already parked", f.WebhookID)
	}
	switch f.Why {
	case "gone", "position unknown":
	case "failing":
		if f.Failures < minFailures || f.Patience <= 0 || f.FailingFor < f.Patience {
			c.fault(ruleWebhook, "it failed %d times in %d ms, which is not long enough: the patience is %d ms",
				f.Failures, f.FailingFor, f.Patience)
		}
		if f.FailingFor > c.at()-w.started {
			c.fault(ruleWebhook, "it had failed for %d ms, but has sent to its URL only for %d ms", f.FailingFor,
				c.at()-w.started)
		}
	default:
		c.fault(ruleWebhook, "%q is no reason to park a webhook", f.Why)
	}
}

func (f *webhookParked) fold(c *trial) {
	if w := c.webhooks[f.WebhookID]; w != nil {
		w.parked = f.Why
	}
}

type webhookResumed struct {
	WebhookID string `json:"webhookId"`
	Skipped   bool   `json:"skipped"`
}

func (f *webhookResumed) about() (kind, id string) { return "webhook", f.WebhookID }
func (f *webhookResumed) commands() []string       { return []string{"webhook:resume"} }

func (f *webhookResumed) judge(c *trial) {
	if w := c.aWebhook(f.WebhookID); w != nil && w.parked == "" && !f.Skipped {
		c.fault(ruleWebhook, "webhook %s is not parked, and nothing is skipped", f.WebhookID)
	}
}

func (f *webhookResumed) fold(c *trial) {
	w := c.webhooks[f.WebhookID]
	if w == nil {
		return
	}
	w.parked, w.started, w.began = "", c.at(), c.event.ID
	if f.Skipped {
		w.after = c.sequence
	}
}
