package bus

type blobs struct{ replicas int }
