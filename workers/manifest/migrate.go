package manifest

// Migrate brings a manifest of an old form to today's: task becomes tasks, orchestratorStrategy strategy. One that is
// of today is given back as it is, with changed false. What Parse refuses it refuses, other versions among it.
func Migrate(document []byte) (migrated []byte, changed bool, err error) {
	return Reader{}.Migrate(document)
}

// Migrate is Migrate with the reader's agents.
func (r Reader) Migrate(document []byte) (migrated []byte, changed bool, err error) {
	m, legacy, err := r.read(document)
	if err != nil || !legacy {
		return document, false, err
	}
	return m.Canonical(), true, nil
}
