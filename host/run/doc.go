// Package run is what happened: a run is an append-only log of [Event]s, its
// [State] is those events folded by [Apply], and a [Store] keeps them.
//
// Intent is recorded before an effect ([Called]) and the outcome after it
// ([Returned]). So streaming, resuming after a crash, watching and replay are
// one mechanism: load, fold, carry on.
//
//	state, err := run.Load(ctx, store, id)
//	...
//	fmt.Println(state.ExitReason, state.Output)
//
// Events with a seq are stored. [Delta], [CallDelta], [Progressed], [Logged],
// [Retried] and [Nested] are transient: they are shown and forgotten.
package run
