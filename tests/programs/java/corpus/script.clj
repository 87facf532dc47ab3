;; Clojure: transactions on refs, atoms, agents, futures and a parallel map.
(def accounts (vec (map ref (repeat 20 100))))
(def moves (atom 0))
(def log (agent []))

(defn move [from to amount]
  (dosync
    (alter (accounts from) - amount)
    (alter (accounts to) + amount))
  (swap! moves inc))

(defn client [number]
  (let [random (java.util.Random. number)]
    (dotimes [_ 500]
      (move (.nextInt random 20) (.nextInt random 20) 5))
    (send log conj number)
    number))

(let [clients (doall (map #(future (client %)) (range 4)))]
  (println "clients" (mapv deref clients)))
(await log)
(println "sum" (reduce + (map deref accounts)) "moves" @moves "log" (sort @log))
(println "parallel" (reduce + (pmap #(reduce + (range %)) (range 300))))
(defmulti area :shape)
(defmethod area :square [{:keys [side]}] (* side side))
(defmethod area :default [_] 0)
(println (area {:shape :square :side 3}) (area {}) (frequencies (map #(mod % 3) (range 10))))
(shutdown-agents)
