package oracle

import "strings"

// liveWebhook refuses a command on a webhook that does not exist.
func (a *asked) liveWebhook() *webhook {
	id := a.f.WebhookID
	w := a.webhooks[id]
	switch {
	case !isID(id):
		a.refuse(codeInvalid)
	case w == nil || w.deleted:
		a.refuse(codeFound)
	}
	return w
}

func (a *asked) createWebhook() fact {
	f := a.f
	if f.URL == nil {
		return a.no(codeInvalid)
	}
	if f.ProjectID != "" {
		a.liveProject(f.ProjectID)
	}
	a.name(f.Name)
	created := &webhookCreated{
		WebhookID:  a.fresh,
		URL:        *f.URL,
		ProjectID:  f.ProjectID,
		Generation: 1,
	}
	if f.Name != nil {
		created.Name = *f.Name
	}
	created.Types = unique(f.Types)
	return created
}

func (a *asked) updateWebhook() fact {
	w := a.liveWebhook()
	if a.refused() {
		return nil
	}
	a.name(a.f.Name)
	updated := &webhookUpdated{WebhookID: a.f.WebhookID, Name: a.f.Name, URL: a.f.URL}
	if a.f.Types != nil {
		types := unique(a.f.Types)
		updated.Types = &types
	}
	if a.f.NewSecret {
		updated.Generation = w.generation + 1
	}
	return updated
}

func (a *asked) deleteWebhook() fact {
	a.liveWebhook()
	return &webhookDeleted{WebhookID: a.f.WebhookID}
}

func (a *asked) resumeWebhook() fact {
	if w := a.liveWebhook(); !a.refused() && w.parked == "" && !a.f.Skip {
		return a.so()
	}
	return &webhookResumed{WebhookID: a.f.WebhookID, Skipped: a.f.Skip}
}

func (a *asked) parkWebhook() fact {
	f := a.f
	if w := a.liveWebhook(); !a.refused() && w.parked != "" {
		return a.so()
	}
	if a.name(&f.Problem); strings.ContainsAny(f.Problem, "\n\r\x00") {
		a.refuse(codeInvalid)
	}
	return &webhookParked{
		WebhookID:  f.WebhookID,
		Why:        f.Why,
		Failures:   f.Failures,
		FailingFor: f.FailingFor,
		Patience:   f.Patience,
		Problem:    f.Problem,
	}
}
