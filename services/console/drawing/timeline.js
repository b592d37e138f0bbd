// The element that NiceGUI puts into a page: it hands what Python says to the timeline, and back what people do.
import { Timeline } from "coincide-timeline";

export default {
  template: "<div></div>",
  props: { options: Object },
  mounted() {
    this.chart = new Timeline(this.$el, this.options, (name, detail) => this.$emit(name, detail));
    this.$el.chart = this.chart;
  },
  unmounted() {
    this.chart.destroy();
  },
  methods: {
    merge(change) {
      this.chart.merge(change);
    },
    show(view) {
      this.chart.setView(view);
    },
    choose(id) {
      this.chart.choose(id);
    },
    follow(follows) {
      this.chart.setFollow(follows);
    },
    range(from, to) {
      this.chart.setRange(from, to);
    },
    span(length) {
      this.chart.setSpan(length);
    },
    zoom(factor) {
      this.chart.zoom(factor);
    },
    pan(share) {
      this.chart.pan(share);
    },
  },
};
