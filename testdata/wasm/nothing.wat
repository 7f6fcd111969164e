;; Exports nothing that could be called.
(module (memory (export "memory") 1))
