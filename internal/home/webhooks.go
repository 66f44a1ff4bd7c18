package home

// webhooksFile records what the receivers of webhooks have got.
const webhooksFile = "webhooks"

// Webhooks remembers across restarts what the receivers of webhooks have got. Without the file nobody knows that, and
// the webhooks are parked: it is in no backup.
type Webhooks struct{ list *noted }

// Webhooks returns the home's Webhooks.
func (l *Lock) Webhooks() Webhooks { return Webhooks{l.webhooks} }

// Load returns what was saved last, nothing if there is none.
func (w Webhooks) Load() ([]byte, error) { return w.list.load() }

// Save replaces what was saved.
func (w Webhooks) Save(content []byte) error { return w.list.save(content) }
