package oracle

import (
	"slices"
	"strings"
)

// ownTemplates are the ids of the built-in templates, one for each mode and strategy (docs/spec/002-prompt-contract.md,
// "Workflow Matrix"): they exist without an event, and stay.
var ownTemplates = []string{
	"execute-simple",
	"execute-queue",
	"execute-tree",
	"coordinate-default",
	"coordinate-intelligent-batching",
	"coordinate-dag",
}

type template struct {
	name, role, content string
	version             int
	// changed says that its content differs from the built-in one.
	changed bool
	deleted bool
}

// aTemplate judges that the event's template exists.
func (c *trial) aTemplate(id string) {
	t := c.templates[id]
	if !slices.Contains(ownTemplates, id) && (t == nil || t.deleted) {
		c.fault(ruleExists, "template %q does not exist", id)
	}
}

// templateTexts judges an event's template texts.
func (c *trial) templateTexts(name, content *string) {
	if name != nil && strings.TrimSpace(*name) == "" {
		c.fault(ruleTemplate, "the template has no name")
	}
	if content != nil && strings.TrimSpace(*content) == "" {
		c.fault(ruleTemplate, "the template has no content")
	}
}

type templateCreated struct {
	TemplateID string `json:"templateId"`
	Name       string `json:"name"`
	Role       string `json:"role"`
	Content    string `json:"content"`
}

func (f *templateCreated) about() (kind, id string) { return "template", f.TemplateID }
func (f *templateCreated) commands() []string       { return []string{"template:create"} }

func (f *templateCreated) judge(c *trial) {
	if c.templates[f.TemplateID] != nil || slices.Contains(ownTemplates, f.TemplateID) {
		c.fault(ruleExists, "template %q already exists or existed", f.TemplateID)
	}
	if f.Role != "worker" && f.Role != "orchestrator" {
		c.fault(ruleTemplate, "a template must be for workers or orchestrators, not for %q", f.Role)
	}
	c.templateTexts(&f.Name, &f.Content)
}

func (f *templateCreated) fold(c *trial) {
	c.templates[f.TemplateID] = &template{
		name:    f.Name,
		role:    f.Role,
		content: f.Content,
		version: 1,
		changed: true,
	}
	c.order.templates = append(c.order.templates, f.TemplateID)
}

type templateUpdated struct {
	TemplateID string  `json:"templateId"`
	Name       *string `json:"name"`
	Content    *string `json:"content"`
}

func (f *templateUpdated) about() (kind, id string) { return "template", f.TemplateID }
func (f *templateUpdated) commands() []string       { return []string{"template:update"} }

func (f *templateUpdated) judge(c *trial) {
	c.aTemplate(f.TemplateID)
	if f.Name == nil && f.Content == nil {
		c.fault(ruleTemplate, "the update changes nothing")
	}
	c.templateTexts(f.Name, f.Content)
}

func (f *templateUpdated) fold(c *trial) {
	t := c.templates[f.TemplateID]
	if t == nil {
		t = &template{}
		c.templates[f.TemplateID] = t
		c.order.templates = append(c.order.templates, f.TemplateID)
	}
	if f.Name != nil {
		t.name = *f.Name
	}
	if f.Content != nil {
		t.content, t.changed = *f.Content, true
		t.version++
	}
}

type templateReset struct {
	TemplateID string `json:"templateId"`
}

func (f *templateReset) about() (kind, id string) { return "template", f.TemplateID }
func (f *templateReset) commands() []string       { return []string{"template:reset"} }

func (f *templateReset) judge(c *trial) {
	c.aTemplate(f.TemplateID)
	t := c.templates[f.TemplateID]
	if slices.Contains(ownTemplates, f.TemplateID) && t == nil || t != nil && !t.deleted && !t.changed {
		c.fault(ruleTemplate, "template %s already has its original content", f.TemplateID)
	}
}

func (f *templateReset) fold(c *trial) {
	if t := c.templates[f.TemplateID]; t != nil {
		t.content, t.changed = "", false
		t.version++
	}
}

type templateDeleted struct {
	TemplateID string `json:"templateId"`
}

func (f *templateDeleted) about() (kind, id string) { return "template", f.TemplateID }
func (f *templateDeleted) commands() []string       { return []string{"template:delete"} }

func (f *templateDeleted) judge(c *trial) {
	c.aTemplate(f.TemplateID)
	if slices.Contains(ownTemplates, f.TemplateID) {
		c.fault(ruleTemplate, "template %s is built in, and cannot be deleted", f.TemplateID)
	}
}

func (f *templateDeleted) fold(c *trial) {
	if t := c.templates[f.TemplateID]; t != nil {
		t.deleted = true
	}
}
