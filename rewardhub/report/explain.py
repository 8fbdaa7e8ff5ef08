class Explanation: pass
def explain(): pass
def show_explanation(): pass
